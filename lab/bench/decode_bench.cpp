#include "lab/bench/decode_bench.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/bench/machine_probe.h"
#include "model/forward_timer.h"
#include "model/recurrent_memory.h"

namespace augur {

namespace {

constexpr int kMaxRows = 4096;

void check(const Model& model, const DecodeBenchOptions& options) {
  if (options.rows.empty()) throw Error("bench decode: no row counts");
  if (options.repetitions < 1) throw Error("bench decode: {} repetitions", options.repetitions);
  if (options.context < 0) throw Error("bench decode: a context of {} tokens", options.context);
  for (const int rows : options.rows) {
    if (rows < 1 || rows > kMaxRows) throw Error("bench decode: {} rows (expected 1 to {})", rows, kMaxRows);
    if (options.context > model.context() - rows) {
      throw Error("bench decode: {} tokens and {} rows exceed the context of {}", options.context, rows,
                  model.context());
    }
  }
}

std::map<std::string, double> split(ForwardTimer& timer, int rows, int passes) {
  ForwardProfile profile;
  double head = 0;
  for (int i = 0; i < passes; ++i) head += timer.time(rows, &profile).logits_ms;
  std::map<std::string, double> result{{"head", head / passes}};
  for (int step = 0; step < ForwardProfile::kSteps; ++step) {
    result[std::string(name(static_cast<ForwardProfile::Step>(step)))] =
        profile.ms[static_cast<std::size_t>(step)] / passes;
  }
  return result;
}

}  // namespace

DecodeBenchResult run_decode_bench(Model& model, const DecodeBenchOptions& options,
                                   const DecodeBenchProgress& progress) {
  check(model, options);
  std::vector<int> counts = options.rows;
  if (std::find(counts.begin(), counts.end(), 1) == counts.end()) counts.insert(counts.begin(), 1);
  const int most_rows = *std::max_element(counts.begin(), counts.end());
  ForwardTimer timer(model, options.context + most_rows, most_rows);
  timer.grow(options.context);
  for (const int rows : counts) timer.time(rows);

  ReadProbe read(model.backend().pool);
  std::vector<double> bandwidth;
  std::vector<std::vector<double>> times(counts.size());
  std::vector<double> experts(counts.size());
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      bandwidth.push_back(read.measure());
      timer.time(counts[i]);  // brings team, workspace and caches to where decoding has them
      const ForwardTimer::Times measured = timer.time(counts[i]);
      times[i].push_back(measured.ms());
      experts[i] = measured.experts;
    }
    if (progress) progress(repetition + 1, options.repetitions);
  }

  const ModelConfig& config = model.config();
  DecodeBenchResult result;
  result.cpu = cpu_model_name();
  result.isa = model.backend().kernels.isa;
  result.threads = model.backend().pool.size();
  result.weights = model.weight_types();
  result.context = options.context;
  result.weight_bytes = model.weight_bytes();
  result.kv_bytes = std::int64_t{2} * config.attention_layers() * config.kv_heads * options.context *
                    kv_slot_bytes(model.kv_type(), config.head_dim);
  result.read_gb_per_s = median(bandwidth);
  for (int i = 0; i < config.layers; ++i) {
    if (const LayerSpec& layer = config.layer(i); layer.recurs()) {
      result.state_bytes +=
          RecurrentMemory(layer.recurrent).state_floats() * static_cast<std::int64_t>(sizeof(float));
    }
  }
  result.memory_limit_ms = static_cast<double>(result.weight_bytes + result.kv_bytes + result.state_bytes) /
                           result.read_gb_per_s * 1e-6;
  const auto one = std::find(counts.begin(), counts.end(), 1) - counts.begin();
  const double one_row_ms = median(times[static_cast<std::size_t>(one)]);
  result.memory_limit_fraction = result.memory_limit_ms / one_row_ms;
  for (const int rows : options.rows) {
    const auto index = std::find(counts.begin(), counts.end(), rows) - counts.begin();
    const double ms = median(times[static_cast<std::size_t>(index)]);
    result.rows.push_back({.rows = rows,
                           .ms = ms,
                           .tokens_per_second = 1e3 * rows / ms,
                           .ratio_to_one_row = ms / one_row_ms,
                           .experts = experts[static_cast<std::size_t>(index)],
                           .split_ms = split(timer, rows, 3)});
  }
  return result;
}

nlohmann::json to_json(const DecodeBenchResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const DecodeBenchRow& row : result.rows) {
    rows.push_back({{"rows", row.rows},
                    {"ms", row.ms},
                    {"tokens_per_second", row.tokens_per_second},
                    {"ratio_to_one_row", row.ratio_to_one_row},
                    {"split_ms", row.split_ms}});
    if (row.experts == 0) continue;
    rows.back()["experts"] = row.experts;
    rows.back()["forecast_ms"] = row.forecast_ms;
  }
  return {{"cpu", result.cpu},
          {"isa", name(result.isa)},
          {"threads", result.threads},
          {"dtype", result.weights},
          {"context", result.context},
          {"weight_bytes", result.weight_bytes},
          {"kv_bytes", result.kv_bytes},
          {"state_bytes", result.state_bytes},
          {"read_gb_per_s", result.read_gb_per_s},
          {"memory_limit_ms", result.memory_limit_ms},
          {"memory_limit_fraction", result.memory_limit_fraction},
          {"rows", std::move(rows)}};
}

}  // namespace augur
