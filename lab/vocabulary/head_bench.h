#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace augur {

/// A vocabulary head of any shape with random weights: what does a shortlist save?
struct HeadBenchOptions {
  std::int64_t entries = 128'256;
  std::int64_t width = 4096;
  std::int64_t size = 28'160;  ///< tokens of a shortlist
  std::int64_t clusters = 1002;
  std::int64_t router_hidden = 512;
  std::vector<int> beams = {1, 8};
  /// How much beams differ from one another, as a share of their length: siblings of a draft tree are alike.
  double difference = 0.1;
  int best = 4;  ///< results kept of a row, as drafters do; 0: all logits are written
  int repeats = 15;
  std::uint64_t seed = 1;
};

struct HeadBenchRow {
  std::string vocabulary;
  int beams = 0;
  std::int64_t columns = 0;  ///< computed, of the union
  double ms = 0;             ///< routing included, median
  double router_ms = 0;      ///< of it, about: the router alone, its weights out of the caches
  double ratio = 0;          ///< to the whole head's
};

/// bf16 weights. Runs of the vocabularies alternate.
std::vector<HeadBenchRow> run_head_bench(Backend& backend, const HeadBenchOptions& options,
                                         const std::function<void(double)>& progress = {});

}  // namespace augur
