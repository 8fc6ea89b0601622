#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "cli/engine_flags.h"
#include "cli/hub_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text_file.h"
#include "cli/validators.h"
#include "files/part_location.h"
#include "kernels/law.h"
#include "lab/cli/commands.h"
#include "lab/suite/figures.h"
#include "lab/suite/keys.h"
#include "lab/suite/state_file.h"
#include "lab/vocabulary/acceptance_theory.h"
#include "lab/vocabulary/head_bench.h"
#include "vocab/vocabulary_head.h"

namespace augur::cli {
namespace {

struct Options {
  VocabularyBench::Options bench;
  std::vector<std::string> prompts;
  std::vector<std::string> vocabularies;
  std::int64_t limit = 0;
  std::int64_t longest_prompt = 512;
  VocabularyBench::Run run;
  std::int64_t theory = 0;  ///< prompts of each file
  std::string shape;
  HeadBenchOptions head;
  std::string json;
};

/// One vocabulary, and how many columns its head computed in a suite.
struct Contender {
  std::string name;
  VocabularyChoice choice;
  std::unique_ptr<DrafterModel> drafter;
  std::int64_t runs = 0;  ///< of the head
  std::int64_t columns = 0;

  double mean_columns() const {
    return runs > 0 ? static_cast<double>(columns) / static_cast<double>(runs) : 0.0;
  }
};

/// One answer as a cell of a suite.
Cell cell_of(const VocabularyBench::Answers& answers, CellKey key) {
  const SpeculationStatistics& s = answers.total;
  Cell cell;
  cell.key = std::move(key);
  cell.tokens = answers.generated_tokens;
  cell.decode_ms = answers.decode_ms;
  cell.speculation.calls = s.calls;
  cell.speculation.draft_ms = s.draft_ms;
  cell.speculation.verify_ms = s.verify_ms;
  cell.output = hex(hash_bytes(std::as_bytes(std::span(answers.tokens.front()))));
  return cell;
}

std::vector<std::unique_ptr<Contender>> contenders(VocabularyBench& bench, const Options& options) {
  std::vector<std::string> names = options.vocabularies;
  if (std::find(names.begin(), names.end(), "full") == names.end()) names.insert(names.begin(), "full");
  std::vector<std::unique_ptr<Contender>> all;
  for (const std::string& name : names) {
    const VocabularySpec spec = VocabularySpec::parse(name).located(parts_folder(options.bench.draft));
    auto one = std::make_unique<Contender>();
    one->name = name;
    if (spec.kind != VocabularySpec::Kind::Full) {
      one->choice = VocabularyChoice(spec, bench.target().fingerprint(), bench.tokenizer().eos,
                                     bench.target().weight_bytes());
    }
    one->choice.observe(
        [it = one.get()](const HeadWeights&, std::span<const HeadRow>, const VocabularyHead& head) {
          ++it->runs;
          it->columns += head.columns();
        },
        false);
    one->drafter = bench.load(one->choice);
    all.push_back(std::move(one));
  }
  return all;
}

nlohmann::ordered_json suite_table(VocabularyBench& bench, const Options& options, const std::string& suite,
                                   std::span<const std::vector<TokenId>> prompts,
                                   std::span<const std::unique_ptr<Contender>> all,
                                   const InterruptGuard& interrupt, Output& out) {
  for (const auto& c : all) {
    // The first rounds pay for memory that is touched for the first time.
    VocabularyBench::Run few = options.run;
    few.max_tokens = std::min<std::int64_t>(few.max_tokens, 8);
    bench.run(c->drafter.get(), prompts.first(1), few);
    c->runs = c->columns = 0;
  }
  Progress progress(suite);
  PromptSet set{suite, {}};
  std::vector<std::string> names;
  for (const auto& c : all) names.push_back(c->name);
  StateFile cells({}, {});
  for (std::size_t i = 0; i < prompts.size() && !interrupt.interrupted(); ++i) {
    set.prompts.push_back({std::to_string(i), "", {}});
    for (std::size_t k = 0; k < all.size(); ++k) {
      // Who goes first changes, so that nobody always finds the caches warm.
      Contender& c = *all[(k + i) % all.size()];
      c.drafter->forget_learnt();  // a list that follows the text begins every prompt as the corpus's
      cells.add(cell_of(bench.run(c.drafter.get(), prompts.subspan(i, 1), options.run),
                        {prompt_key(suite, set.prompts.back()), c.name, 0}));
    }
    progress.update(static_cast<double>(i + 1) / static_cast<double>(prompts.size()));
  }
  progress.done();
  const SuiteFigures figures = suite_figures(set, names, 1, cells);
  int different = 0;
  for (const MethodFigures& f : figures.methods) different += f.different;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  out.line(fmt::format("{}: {} prompts, {}", suite, figures.prompts,
                       different == 0 ? "the same tokens" : fmt::format("{} ANSWERS DIFFER", different)));
  for (std::size_t k = 0; k < figures.methods.size(); ++k) {
    const MethodFigures& f = figures.methods[k];
    const auto calls = static_cast<double>(std::max<std::int64_t>(f.sum.calls, 1));
    out.line(fmt::format(
        "  {:<44} {:5.3f} tokens a call ({:5.1f}%)  {:7.1f} tokens/s ({:.3f}x)  {:7.0f} computed  "
        "draft {:.2f}, verify {:.2f} ms",
        names[k], f.tau(), 100 * f.tau() / figures.methods[0].tau(), f.tokens_per_second, f.speedup,
        all[k]->mean_columns(), f.sum.draft_ms / calls, f.sum.verify_ms / calls));
    rows.push_back({{"vocabulary", names[k]},
                    {"mean_accepted_length", f.tau()},
                    {"tokens_per_second", f.tokens_per_second},
                    {"computed", all[k]->mean_columns()},
                    {"draft_ms", f.sum.draft_ms / calls},
                    {"verify_ms", f.sum.verify_ms / calls}});
  }
  return {{"suite", suite}, {"prompts", figures.prompts}, {"different", different}, {"vocabularies", rows}};
}

nlohmann::ordered_json theory_table(VocabularyBench& bench, const Options& options, const std::string& suite,
                                    std::span<const std::vector<TokenId>> prompts,
                                    std::span<const std::unique_ptr<Contender>> all,
                                    const InterruptGuard& interrupt, Output& out) {
  std::vector<NamedVocabulary> named;
  for (const auto& c : all) named.push_back({c->name, &c->choice});
  Progress progress(suite + ", theory");
  const auto count = std::min(prompts.size(), static_cast<std::size_t>(options.theory));
  const TheoryResult result = measure_theory(
      bench, prompts.first(count), named,
      {.levels = options.run.tree.levels, .max_tokens = options.run.max_tokens}, [&](double fraction) {
        progress.update(fraction);
        return !interrupt.interrupted();
      });
  progress.done();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  out.line(
      fmt::format("{}, laws at temperature 1 in {} contexts; the whole vocabulary's chains of {} had {:.3f} "
                  "drafts accepted",
                  suite, result.figures.empty() ? 0 : result.figures.front().contexts,
                  options.run.tree.levels, result.measured_length));
  for (const TheoryFigures& f : result.figures) {
    out.line(fmt::format(
        "  {:<44} |S| {:7.0f}  p(S) {:.4f}  regret {:.4f}{}  TV in S {:.4f}  overlap {:.4f} >= {:.4f}  "
        "E[L] {:.3f}",
        f.vocabulary, f.tokens, f.mean.covered, f.mean.best - f.mean.covered,
        f.best_clusters > 0 ? fmt::format(" (to the best clusters {:.4f})", f.best_clusters - f.mean.covered)
                            : std::string(),
        f.mean.tv_within, f.mean.overlap, f.mean.bound, f.expected_length));
    rows.push_back({{"vocabulary", f.vocabulary},
                    {"tokens", f.tokens},
                    {"covered", f.mean.covered},
                    {"best", f.mean.best},
                    {"best_clusters", f.best_clusters},
                    {"tv_within", f.mean.tv_within},
                    {"overlap", f.mean.overlap},
                    {"bound", f.mean.bound},
                    {"overlap_by_step", f.by_step},
                    {"expected_length", f.expected_length}});
  }
  return {{"suite", suite}, {"measured_length", result.measured_length}, {"vocabularies", rows}};
}

/// "128256x4096"
void parse_shape(const std::string& text, HeadBenchOptions& options) {
  const std::size_t x = text.find('x');
  try {
    options.entries = std::stoll(text.substr(0, x));
    options.width = x == std::string::npos ? 0 : std::stoll(text.substr(x + 1));
  } catch (const std::exception&) {
    options.width = 0;
  }
  if (options.entries < 64 || options.width < 1 || options.entries > (1 << 24) || options.width > (1 << 20)) {
    throw Error("--shape {}: expected ENTRIESxWIDTH, as in 128256x4096", text);
  }
}

nlohmann::ordered_json shape_table(const Options& options, Output& out) {
  HeadBenchOptions head = options.head;
  parse_shape(options.shape, head);
  head.clusters = std::min(head.clusters, head.entries);
  Backend backend(options.bench.threads, false, isa_under(options.bench.law, select_isa()));
  Progress progress("measuring");
  const std::vector<HeadBenchRow> rows =
      run_head_bench(backend, head, [&](double fraction) { progress.update(fraction); });
  progress.done();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  out.line(fmt::format("{}, {} threads: a head of {} x {} bf16, shortlists of {} ({:.3f} of it)",
                       cpu_model_name(), backend.pool.size(), head.entries, head.width, head.size,
                       static_cast<double>(head.size) / static_cast<double>(head.entries)));
  for (const HeadBenchRow& r : rows) {
    out.line(fmt::format("  {:<10} {} beams  {:>7} computed ({:.3f})  {:8.3f} ms  {:.3f}x{}", r.vocabulary,
                         r.beams, r.columns,
                         static_cast<double>(r.columns) / static_cast<double>(head.entries), r.ms, r.ratio,
                         r.router_ms > 0 ? fmt::format("  (router {:.3f} ms)", r.router_ms) : std::string()));
    list.push_back({{"vocabulary", r.vocabulary},
                    {"beams", r.beams},
                    {"computed", r.columns},
                    {"ms", r.ms},
                    {"router_ms", r.router_ms},
                    {"ratio", r.ratio}});
  }
  return list;
}

int bench_vocab(const Options& options) {
  Output out;
  nlohmann::ordered_json report = {{"cpu", cpu_model_name()}};
  const InterruptGuard interrupt;
  if (!options.shape.empty()) report["shape"] = shape_table(options, out);
  if (!options.prompts.empty()) {
    VocabularyBench bench(options.bench);
    const auto all = contenders(bench, options);
    report["model"] = options.bench.model;
    report["drafter"] = bench.drafter_name();
    report["threads"] = bench.backend().pool.size();
    for (const std::string& file : options.prompts) {
      const std::string suite = std::filesystem::path(file).stem().string();
      const auto prompts = bench.prompts({&file, 1}, options.limit, options.longest_prompt);
      report["suites"].push_back(suite_table(bench, options, suite, prompts, all, interrupt, out));
      if (options.theory > 0 && !interrupt.interrupted()) {
        report["theory"].push_back(theory_table(bench, options, suite, prompts, all, interrupt, out));
      }
      if (interrupt.interrupted()) break;
    }
  }
  if (!options.json.empty()) write_text(options.json, report.dump(2) + "\n");
  out.finish();
  if (interrupt.interrupted()) return interrupt.exit_code();
  for (const auto& suite : report.value("suites", nlohmann::ordered_json::array())) {
    if (suite["different"] != 0) return 1;
  }
  return 0;
}

}  // namespace

void add_bench_vocab(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "vocab", "Draft vocabularies against one another: accepted length, speed, theory; heads of any shape");
  command->option_defaults()->always_capture_default();
  auto* model = command->add_option("-m,--model", options->bench.model, "Target model");
  add_hub_flags(*command, model);
  add_draft_hub_flag(*command,
                     command->add_option("-d,--draft-model", options->bench.draft, "Draft model or head"));
  command->add_option("--spec-type", options->bench.type, "What it is used as (default: what it is)");
  auto* prompts = command->add_option("--prompts", options->prompts,
                                      "JSON lines with turns, messages or text; one suite each; repeatable");
  command->add_option("--vocab", options->vocabularies, "As --spec-vocab, repeatable; full is always there")
      ->allow_extra_args(false);
  command->add_option("--limit", options->limit, "Only the first N of each file (0: all)")
      ->check(in_range<std::int64_t>(0, 1 << 30));
  command->add_option("--max-prompt", options->longest_prompt, "Leave out prompts of more tokens")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_option("-n,--max-tokens", options->run.max_tokens, "Longest answer")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_option("--temp", options->run.sampling.temperature, "Temperature")
      ->check(in_range(0.0, 100.0));
  command->add_option("--seed", options->run.sampling.seed, "Of the target's draws");
  command->add_option("--tree-topk", options->run.tree.top_k, "Candidates per node; 1: a chain")
      ->check(in_range(1, 1024));
  command->add_option("--tree-depth", options->run.tree.levels, "Levels drafted")->check(in_range(1, 64));
  command->add_option("--tree-size", options->run.tree.size, "Nodes verified, the root included")
      ->check(in_range(2, 4096));
  command
      ->add_option("--theory", options->theory,
                   "So many prompts of each file for p(S), overlaps and their bounds (0: none)")
      ->check(in_range<std::int64_t>(0, 1 << 30));
  auto* shape = command->add_option("--shape", options->shape,
                                    "Time heads of random weights, ENTRIESxWIDTH as in 128256x4096");
  command->add_option("--shape-size", options->head.size, "Tokens of their shortlists")
      ->check(in_range<std::int64_t>(16, 1 << 24));
  command->add_option("--shape-best", options->head.best, "Results kept of a row (0: all are written)")
      ->check(in_range(0, 1024));
  command->add_option("--shape-clusters", options->head.clusters, "Clusters")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_option("--shape-router", options->head.router_hidden, "Width of their router")
      ->check(in_range<std::int64_t>(1, 1 << 16));
  command->add_option("-t,--threads", options->bench.threads, "Threads (0: all cores)")
      ->check(in_range(0, 1024));
  add_law_flag(*command, options->bench.law);
  command->add_option("--json", options->json, "Write the figures to this file");
  command->callback([options, command, model, prompts, shape, &action] {
    if (prompts->count() + shape->count() == 0) {
      throw CLI::ValidationError("--prompts or --shape says what to measure");
    }
    if (prompts->count() > 0 && model->count() + command->count("--hf-repo") == 0) {
      throw CLI::ValidationError("--prompts needs -m or -hf");
    }
    action = [options] { return bench_vocab(*options); };
  });
}

}  // namespace augur::cli
