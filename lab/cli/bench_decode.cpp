#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/engine_flags.h"
#include "cli/hub_flags.h"
#include "cli/progress.h"
#include "cli/validators.h"
#include "cost/cost_probe.h"
#include "cost/measured_file.h"
#include "cost/product_traversals.h"
#include "decode/timed_sequences.h"
#include "kernels/law.h"
#include "lab/bench/decode_bench.h"
#include "lab/cli/bench_flags.h"
#include "lab/cli/commands.h"

namespace augur::cli {
namespace {

constexpr std::uint64_t kRandomWeightsSeed = 1;

struct Options {
  DecodeBenchOptions bench;
  BenchFlags flags;
  std::string model;
  std::string config;  ///< of --random-weights; may be left out where the model is given
  bool random = false;
  WeightFormat weights = WeightFormat::Auto;
  ArithmeticLaw law = ArithmeticLaw::Auto;
  KvFormat kv = KvFormat::Auto;
};

std::unique_ptr<Model> make_model(Backend& backend, const Options& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.config.empty() ? options.model : options.config);
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  Progress progress(options.random ? "making random weights" : "loading");
  ModelOptions how;
  how.weights = options.weights;
  how.kv = options.kv;
  // Room for what is measured: a cache for the whole context of a large model would not fit.
  how.context =
      std::min(config.max_context, options.bench.context + std::ranges::max(options.bench.rows) + 1);
  how.progress = [&](double fraction) { progress.update(fraction); };
  return options.random ? Model::random(backend, config, kRandomWeightsSeed, how)
                        : Model::load(backend, checkpoint, how);
}

void print(const DecodeBenchResult& result, Output& out) {
  out.line(fmt::format("{}, {}, {} threads; {} weights of {:.1f} MB, {} tokens in the cache", result.cpu,
                       name(result.isa), result.threads, result.weights,
                       static_cast<double>(result.weight_bytes) / 1e6, result.context));
  out.line(fmt::format("{:>5} {:>9} {:>9} {:>9}", "rows", "ms", "rows/s", "x 1 row"));
  for (const DecodeBenchRow& row : result.rows) {
    out.line(fmt::format("{:>5} {:>9.3f} {:>9.1f} {:>9.2f}", row.rows, row.ms, row.tokens_per_second,
                         row.ratio_to_one_row));
  }
  if (const auto& one = result.rows.front(); one.experts > 0) {
    out.line(fmt::format("{:>5} {:>9} {:>9} {:>9}", "rows", "experts", "forecast", "x measured"));
    for (const DecodeBenchRow& row : result.rows) {
      out.line(fmt::format("{:>5} {:>9.0f} {:>9.3f} {:>9.3f}", row.rows, row.experts, row.forecast_ms,
                           row.forecast_ms / row.ms));
    }
  }
  out.line(fmt::format("at 1 row: {:.2f} of the memory limit ({:.3f} ms at {:.1f} GB/s)",
                       result.memory_limit_fraction, result.memory_limit_ms, result.read_gb_per_s));
}

/// Of a mixture of experts: what `auto` takes rows to cost after as short a measurement as there is, of 1, 8,
/// 16 and 64 rows and of one expert more; what lies between is forecast from the experts that rows should
/// wake.
void forecast(Model& model, DecodeBenchResult& result) {
  CostModel costs(ExpertDemand::of(model.config()));
  if (costs.experts().dense()) return;
  measure_target(
      model, [&](const Clock& clock) { return time_overhead(model, clock); }, costs, 0);
  for (DecodeBenchRow& row : result.rows) {
    row.forecast_ms = costs.verify_ms(row.rows, static_cast<double>(result.context));
  }
}

int bench_decode(const Options& options) {
  Backend backend(options.flags.threads, options.flags.pin, isa_under(options.law, select_isa()));
  const std::unique_ptr<Model> model = make_model(backend, options);
  prepare_products(*model, measured_folder({}), {});
  Progress progress("measuring");
  DecodeBenchResult result = run_decode_bench(*model, options.bench, [&](int done, int planned) {
    progress.update(static_cast<double>(done) / planned);
  });
  forecast(*model, result);
  progress.done();
  report(options.flags, to_json(result), [&](Output& out) { print(result, out); });
  return 0;
}

}  // namespace

void add_bench_decode(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "decode", "Forward passes of a whole model at several row counts, against the memory limit");
  auto* model = command->add_option("-m,--model", options->model,
                                    "Hugging Face folder, GGUF file, or with --random-weights a config.json");
  add_hub_flags(*command, model);
  auto* random = command
                     ->add_option("--random-weights", options->config,
                                  "Random weights of the shape that -m, or this config.json, describes")
                     ->expected(0, 1)
                     ->type_name("[CONFIG]");
  command->add_option("--rows", options->bench.rows, "Row counts, separated by commas")
      ->delimiter(',')
      ->check(in_range(1, 4096))
      ->capture_default_str();
  command->add_option("--context", options->bench.context, "Tokens in the cache before the measured rows")
      ->check(in_range<std::int64_t>(0, std::int64_t{1} << 24))
      ->capture_default_str();
  command
      ->add_option("--repetitions", options->bench.repetitions, "Measurements of each; their median counts")
      ->check(in_range(1, 100000))
      ->capture_default_str();
  add_weights_flag(*command, options->weights);
  add_law_flag(*command, options->law);
  add_words(*command, "--kv-type", options->kv,
            "Keys and values in memory (auto: bf16; f32 with f32 weights)");
  add_bench_flags(*command, options->flags);
  command->callback([options, command, model, random, &action] {
    options->random = random->count() > 0;
    const bool config_given = !options->config.empty();
    if (model->count() + command->count("--hf-repo") + (config_given ? 1 : 0) != 1) {
      throw CLI::ValidationError("one of -m and --random-weights CONFIG says what to measure");
    }
    action = [options] { return bench_decode(*options); };
  });
}

}  // namespace augur::cli
