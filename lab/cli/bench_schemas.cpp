#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_clock.h"
#include "checkpoint/checkpoint.h"
#include "cli/hub_flags.h"
#include "cli/output.h"
#include "grammar/compiler.h"
#include "lab/cli/commands.h"
#include "lab/schemas/reach.h"

namespace augur::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string schemas, model;
  bool verbose = false;
};

/// Every byte is a token, and one more ends a text.
class Bytes final : public Tokenizer {
 public:
  static constexpr TokenId kEnd = 256;
  Bytes() { eos = {kEnd}; }
  std::vector<TokenId> encode(std::string_view text, std::span<const ByteRange>) const override {
    std::vector<TokenId> ids;
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    return ids;
  }
  std::string token_bytes(TokenId id) const override {
    return id < kEnd ? std::string(1, static_cast<char>(id)) : "<end>";
  }
  bool is_special(TokenId id) const override { return id == kEnd; }
  std::int32_t vocab_size() const override { return kEnd + 1; }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }
};

struct Counts {
  int schemas = 0, exact = 0, refused = 0, excluding = 0, letting_through = 0, undecided = 0;
};

void judge(GrammarCompiler& compiler, const Json& entry, bool verbose, Counts& counts, Output& out) {
  const std::string name = entry.value("name", std::to_string(counts.schemas));
  ++counts.schemas;
  std::shared_ptr<const CompiledGrammar> grammar;
  try {
    grammar = compiler.compile({.kind = GrammarKind::JsonSchema, .text = entry.at("schema").dump()});
  } catch (const Error& error) {
    ++counts.refused;
    if (verbose) out.line(fmt::format("refused {}: {}", name, error.what()));
    return;
  }
  bool excludes = false, lets = false, undecided = false;
  for (const Json& test : entry.at("tests")) {
    const auto constraint = grammar->begin();
    const Reach reached = reach(*constraint, Bytes::kEnd, test.at("data"));
    const bool valid = test.at("valid").get<bool>();
    undecided = undecided || reached == Reach::TooLong;
    if (reached == Reach::TooLong || (reached == Reach::Yes) == valid) continue;
    (valid ? excludes : lets) = true;
    out.line(fmt::format("{} {}: {}", valid ? "excluded" : "let through", name, test.at("data").dump()));
  }
  counts.excluding += excludes ? 1 : 0;
  counts.letting_through += lets ? 1 : 0;
  counts.undecided += undecided ? 1 : 0;
  counts.exact += excludes || lets || undecided ? 0 : 1;
}

/// 1: something that fits is excluded, or something else let through.
int bench(const Options& options) {
  std::ifstream in(options.schemas);
  if (!in) throw Error("{} cannot be read", options.schemas);
  Bytes bytes;
  GrammarCompiler exact(bytes, Bytes::kEnd + 1);
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<GrammarCompiler> timed;
  if (!options.model.empty()) {
    tokenizer = Checkpoint::open(options.model).load_tokenizer();
    timed = std::make_unique<GrammarCompiler>(*tokenizer, tokenizer->vocab_size());
    timed->compile({.kind = GrammarKind::Regex, .text = "a"});  // the vocabulary is read with the first
  }
  Output out;
  Counts counts;
  const ThreadClock clock;
  std::vector<double> seconds;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const Json entry = Json::parse(line);
    if (timed != nullptr) {
      const Stopwatch watch(clock);
      try {
        timed->compile({.kind = GrammarKind::JsonSchema, .text = entry.at("schema").dump()});
      } catch (const Error&) {
        // What is refused takes its time, too.
      }
      seconds.push_back(watch.ms() / 1e3);
      if (options.verbose) out.line(fmt::format("{:.4f} s {}", seconds.back(), entry.value("name", "")));
    }
    judge(exact, entry, options.verbose, counts, out);
  }
  out.line(fmt::format(
      "{} schemas: {} exact, {} refused, {} exclude what fits, {} let through what does not, {} undecided",
      counts.schemas, counts.exact, counts.refused, counts.excluding, counts.letting_through,
      counts.undecided));
  if (!seconds.empty()) {
    std::sort(seconds.begin(), seconds.end());
    out.line(fmt::format("seconds of one core to compile: p50 {:.4f}, p99 {:.4f}, most {:.4f}",
                         seconds[seconds.size() / 2], seconds[seconds.size() * 99 / 100], seconds.back()));
  }
  out.finish();
  return counts.excluding + counts.letting_through > 0 ? 1 : 0;
}

}  // namespace

void add_bench_schemas(CLI::App& bench_command, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench_command.add_subcommand(
      "schemas", "Hold JSON schemas' grammars against instances that fit and that don't");
  command
      ->add_option("schemas", options->schemas,
                   R"(JSON lines: {"name", "schema", "tests": [{"valid", "data"}, ...]})")
      ->required();
  add_hub_flags(*command, command->add_option("-m,--model", options->model,
                                              "Time compilations for this model's vocabulary"));
  command->add_flag("--verbose", options->verbose, "Say why schemas are refused");
  command->callback([options, &action] { action = [options] { return bench(*options); }; });
}

}  // namespace augur::cli
