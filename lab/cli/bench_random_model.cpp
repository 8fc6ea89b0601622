#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/convert.h"
#include "cli/progress.h"
#include "cli/tell.h"
#include "cli/text_file.h"
#include "lab/bench/random_model.h"
#include "lab/cli/commands.h"

namespace augur::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string config;
  std::string out;
  std::string tokenizer;
  std::uint64_t seed = 1;
};

int make_random_model(const Options& options) {
  const Checkpoint shapes = Checkpoint::open(options.config);
  const ModelConfig config = ModelConfig::from_json(shapes.config(), shapes.path().string());
  const fs::path out = options.out;
  if (fs::exists(out) && !(fs::is_directory(out) && fs::is_empty(out))) {
    throw Error("{}: expected a new or empty folder", options.out);
  }
  fs::create_directories(out);
  if (!options.tokenizer.empty()) write_tokenizer(Checkpoint::open(options.tokenizer), out);
  Progress progress("making random weights");
  write_random_weights(config, options.seed, out / "model.safetensors",
                       [&](double fraction) { progress.update(fraction); });
  progress.done();
  nlohmann::json written = shapes.config();
  written["torch_dtype"] = "bfloat16";
  written.erase("quantization_config");
  write_text((out / "config.json").string(), written.dump(2) + "\n");  // last: without it it is no model
  tell("written: {}\n", options.out);
  return 0;
}

}  // namespace

void add_bench_random_model(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "random-model", "Write a model of given shapes with random weights, to time what no model has");
  command
      ->add_option("CONFIG", options->config,
                   "The shapes: a config.json, or a model that has them; any family")
      ->required();
  command->add_option("OUT", options->out, "Folder to write: new or empty")->required();
  command->add_option("--tokenizer", options->tokenizer,
                      "A model whose tokenizer it gets; of no more tokens than the shapes have");
  command->add_option("--seed", options->seed, "Of the weights")->capture_default_str();
  command->callback([options, &action] { action = [options] { return make_random_model(*options); }; });
}

}  // namespace augur::cli
