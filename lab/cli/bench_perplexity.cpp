#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/engine_flags.h"
#include "cli/hub_flags.h"
#include "cli/progress.h"
#include "cli/text_file.h"
#include "cli/validators.h"
#include "kernels/law.h"
#include "lab/bench/perplexity.h"
#include "lab/cli/bench_flags.h"
#include "lab/cli/commands.h"

namespace augur::cli {
namespace {

struct Options {
  PerplexityOptions bench;
  BenchFlags flags;
  std::string model;
  std::string file;
  WeightFormat weights = WeightFormat::Auto;
  ArithmeticLaw law = ArithmeticLaw::Auto;
  KvFormat kv = KvFormat::Auto;
};

int bench_perplexity(const Options& options) {
  Backend backend(options.flags.threads, options.flags.pin, isa_under(options.law, select_isa()));
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  std::vector<TokenId> tokens = tokenizer->encode(read_text(options.file));
  const bool has_bos = !tokens.empty() && tokenizer->bos && tokens.front() == *tokenizer->bos;
  if (tokenizer->add_bos && tokenizer->bos && !has_bos) tokens.insert(tokens.begin(), *tokenizer->bos);
  Progress loading("loading");
  const std::unique_ptr<Model> model = Model::load(
      backend, checkpoint,
      {.weights = options.weights, .kv = options.kv, .progress = [&](double f) { loading.update(f); }});
  loading.done();
  Progress progress("scoring");
  const PerplexityResult result = run_perplexity(
      *model, *tokenizer, tokens, options.bench, [&](const PerplexityResult& so_far, std::int64_t planned) {
        progress.update(static_cast<double>(so_far.chunks) / static_cast<double>(planned),
                        fmt::format("perplexity {:.3f}", so_far.perplexity));
      });
  progress.done();
  report(options.flags, to_json(result), [&](Output& out) {
    out.line(fmt::format("{}, {}; {} weights; {} chunks of {} tokens, {} scored, {:.1f} s", result.cpu,
                         result.isa, result.weights, result.chunks, result.context, result.scored,
                         result.seconds));
    out.line(fmt::format("perplexity {:.4f} +/- {:.4f}", result.perplexity, result.error));
  });
  return 0;
}

}  // namespace

void add_bench_perplexity(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "perplexity", "How well a model predicts a text: to compare weights of different precision");
  add_hub_flags(
      *command,
      command->add_option("-m,--model", options->model, "Hugging Face folder or GGUF file")->required());
  command->add_option("-f,--file", options->file, "Text, UTF-8")->required();
  command->add_option("-c,--ctx-size", options->bench.context, "Tokens of a chunk; its second half is scored")
      ->check(in_range<std::int64_t>(4, std::int64_t{1} << 24))
      ->capture_default_str();
  command->add_option("--chunks", options->bench.chunks, "Chunks at most; 0: all")
      ->check(in_range<std::int64_t>(0, std::int64_t{1} << 32));
  add_weights_flag(*command, options->weights);
  add_law_flag(*command, options->law);
  add_words(*command, "--kv-type", options->kv,
            "Keys and values in memory (auto: f32 with f32 weights, else bf16)");
  add_bench_flags(*command, options->flags);
  command->callback([options, &action] { action = [options] { return bench_perplexity(*options); }; });
}

}  // namespace augur::cli
