#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/model.h"

namespace augur {

/// What `augur bench decode` measures: one forward pass with the logits of all its rows, at several row
/// counts, behind a prefix of `context` tokens.
struct DecodeBenchOptions {
  std::vector<int> rows = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128};
  std::int64_t context = 128;  ///< tokens in the cache before the measured rows
  int repetitions = 15;        ///< of every row count, in turn
};

struct DecodeBenchRow {
  int rows = 0;
  double ms = 0;                 ///< median
  double tokens_per_second = 0;  ///< rows / ms
  double ratio_to_one_row = 0;   ///< time / time of one row
  double experts = 0;            ///< distinct ones that its rows woke, over all layers; 0: a dense model
  double forecast_ms = 0;  ///< what `auto` would take it to cost, for a mixture of experts; 0: not asked
  /// Where one pass spends its time on thread 0, by step (see ForwardProfile; "head": final norm and logits).
  std::map<std::string, double> split_ms;
};

struct DecodeBenchResult {
  std::string cpu;
  Isa isa = Isa::Portable;
  int threads = 0;
  std::string weights;  ///< their types: "bf16", "q4_1, q8_0"
  std::int64_t context = 0;
  std::int64_t weight_bytes = 0;     ///< read by a pass
  std::int64_t kv_bytes = 0;         ///< keys and values of the prefix, read by a pass
  double read_gb_per_s = 0;          ///< of this machine, measured between the passes
  std::int64_t state_bytes = 0;      ///< of layers that keep a state
  double memory_limit_ms = 0;        ///< (weight_bytes + kv_bytes + state_bytes) / read_gb_per_s
  double memory_limit_fraction = 0;  ///< memory_limit_ms / ms at one row
  std::vector<DecodeBenchRow> rows;
};

using DecodeBenchProgress = std::function<void(int done, int planned)>;

/// Medians over repetitions in which read bandwidth and every row count are measured one after the other.
/// Error for row counts or a context that the model has no room for.
DecodeBenchResult run_decode_bench(Model& model, const DecodeBenchOptions& options,
                                   const DecodeBenchProgress& progress = {});

nlohmann::json to_json(const DecodeBenchResult& result);

}  // namespace augur
