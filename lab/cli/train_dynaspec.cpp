#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "cli/hub_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/validators.h"
#include "lab/cli/commands.h"
#include "lab/vocabulary/frequency_bands.h"
#include "lab/vocabulary/spherical_kmeans.h"
#include "lab/vocabulary/vocabulary_bench.h"
#include "vocab/token_order.h"

namespace augur::cli {
namespace {

struct Options {
  VocabularyBench::Options bench;
  std::vector<std::string> prompts;
  std::string out;
  std::int64_t limit = 0;
  std::int64_t longest_prompt = 384;
  std::int64_t max_tokens = 96;
  std::vector<double> temperatures = {0.0, 1.0};
  double minutes = 3;
  std::int64_t examples = 120'000;
  std::int64_t top = 16;
  std::string input = "state";
  std::string loss = "mass";
  std::int64_t clusters = 0;
  int iterations = 12;
  std::string core;
  std::int64_t core_size = 0;
  RouterTraining router;
  double share = 0.22;
  std::vector<std::int64_t> budget;  ///< {K0, K1}; empty: by share
  bool fixed = false;
  bool bands = true;
  bool by_row = false;
};

/// Every context that the drafter meets while it drafts answers to the prompts.
void collect(VocabularyBench& bench, const Options& options, const DrafterModel& drafter,
             ExampleCollector& collector, const InterruptGuard& interrupt) {
  const std::vector<std::vector<TokenId>> prompts =
      bench.prompts(options.prompts, options.limit, options.longest_prompt);
  Progress progress("drafting");
  const Stopwatch clock;
  for (std::size_t i = 0; i < options.temperatures.size(); ++i) {
    const auto share = static_cast<double>(i + 1) / static_cast<double>(options.temperatures.size());
    const auto quota = static_cast<std::int64_t>(share * static_cast<double>(options.examples));
    // Every so many of the prompts, so that a run that stops early has seen every file.
    std::vector<std::vector<TokenId>> mine;
    const std::size_t stride = std::max<std::size_t>(1, prompts.size() / 97) | 1;
    for (std::size_t start = i; start < stride + i; ++start) {
      for (std::size_t p = start % stride; p < prompts.size(); p += stride) mine.push_back(prompts[p]);
    }
    VocabularyBench::Run how{.max_tokens = options.max_tokens, .parallel = 8};
    how.sampling.temperature = static_cast<float>(options.temperatures[i]);
    how.sampling.seed = 1 + 1'000'000 * i;
    how.go_on = [&](std::int64_t) {
      progress.update(static_cast<double>(collector.examples().size()) /
                      static_cast<double>(options.examples));
      return !interrupt.interrupted() && collector.examples().size() < quota &&
             clock.ms() < share * options.minutes * 60e3;
    };
    bench.run(&drafter, mine, how);
  }
  progress.done();
  if (collector.weights() == nullptr || collector.examples().size() < 100) {
    throw Error("the drafter met {} contexts: too few to learn from", collector.examples().size());
  }
}

/// Sets part.cluster_of and part.clusters. The core of most frequent tokens, if there is one, is cluster 0;
/// the others are found by k-means over the drafter's head. Tokens that it does not have go to the last
/// cluster.
void partition(VocabularyBench& bench, const Options& options, const HeadWeights& weights,
               ClusterPart& part) {
  part.cluster_of.assign(static_cast<std::size_t>(part.vocab), -1);
  std::vector<std::int64_t> rank(part.cluster_of.size(), std::int64_t{1} << 40);
  std::int32_t first = 0;
  if (options.core_size > 0) {
    const TokenOrder order = read_token_order(options.core, static_cast<std::int32_t>(part.vocab));
    for (std::int64_t i = 0; i < std::ssize(order.tokens); ++i) {
      rank[static_cast<std::size_t>(order.tokens[static_cast<std::size_t>(i)])] = i;
    }
    for (const TokenId token : bench.tokenizer().eos) rank[static_cast<std::size_t>(token)] = 0;
    for (std::size_t t = 0; t < rank.size(); ++t) {
      if (rank[t] < options.core_size) part.cluster_of[t] = 0;
    }
    first = 1;
  }
  Progress progress("clustering");
  std::vector<Band> bands =
      frequency_bands(weights, rank, options.core_size, part.clusters - first, options.bands);
  for (std::size_t b = 0; b < bands.size(); ++b) {
    const std::vector<std::int32_t> found = spherical_kmeans(
        bench.backend(), *weights.matrix, bands[b].entries,
        {.clusters = bands[b].clusters, .iterations = options.iterations}, [&](double fraction) {
          progress.update((static_cast<double>(b) + fraction) / static_cast<double>(bands.size()));
        });
    for (std::size_t i = 0; i < found.size(); ++i) {
      part.cluster_of[static_cast<std::size_t>(weights.target_id(bands[b].entries[i]))] = first + found[i];
    }
    first += static_cast<std::int32_t>(bands[b].clusters);
  }
  progress.done();
  part.clusters = first;
  for (std::int32_t& cluster : part.cluster_of) {
    if (cluster < 0) cluster = first - 1;
  }
}

/// The largest budget whose shortlists have at most `share` of the vocabulary on average. Position-aware: the
/// first step has twice the second's.
ClusterBudget fit_budget(VocabularyBench& bench, const Options& options, const ClusterPart& part,
                         const RouterExamples& examples, Range held_out) {
  const auto budget_of = [&](std::int64_t k) {
    return options.fixed ? ClusterBudget{k, k, false, options.by_row}
                         : ClusterBudget{std::min(part.clusters, 2 * k), std::min(part.clusters, 2 * k), true,
                                         options.by_row};
  };
  std::int64_t low = 1;
  std::int64_t high = part.clusters;
  while (low < high) {
    const std::int64_t k = (low + high + 1) / 2;
    const double tokens = router_quality(bench.backend(), examples, held_out, part, budget_of(k)).tokens;
    (tokens <= options.share * static_cast<double>(part.vocab) ? low : high) =
        tokens <= options.share * static_cast<double>(part.vocab) ? k : k - 1;
  }
  return budget_of(low);
}

int train_dynaspec(const Options& options) {
  VocabularyBench bench(options.bench);
  const RouterInput input = options.input == "state" ? RouterInput::State : RouterInput::Previous;
  ExampleCollector collector(input, options.top, options.examples);
  const VocabularyChoice watched(collector.observer());
  const std::unique_ptr<DrafterModel> drafter = bench.load(watched);
  const InterruptGuard interrupt;
  collect(bench, options, *drafter, collector, interrupt);
  const RouterExamples& examples = collector.examples();
  const HeadWeights& weights = *collector.weights();

  ClusterPart part;
  part.file = options.out;
  part.vocab = bench.target().config().vocab;
  part.hidden = weights.matrix->k();
  part.input = input;
  part.clusters = options.clusters > 0 ? options.clusters
                                       : std::clamp<std::int64_t>(
                                             part.vocab / 128, std::min<std::int64_t>(part.vocab, 8), 1024);
  partition(bench, options, weights, part);
  std::vector<std::int32_t> always;
  if (options.core_size > 0) always.push_back(0);

  RouterTraining router = options.router;
  router.loss = options.loss == "top" ? RouterLoss::Top : RouterLoss::Mass;
  const std::int64_t held = std::max<std::int64_t>(examples.size() / 10, 1);
  const Range learned{0, examples.size() - held};
  const Range held_out{examples.size() - held, examples.size()};
  Progress progress("training the router");
  double last_loss = 0;
  train_router(bench.backend(), examples, learned, always, router, part, [&](double fraction, double loss) {
    progress.update(fraction);
    last_loss = loss;
    return !interrupt.interrupted();
  });
  progress.done();
  if (options.budget.empty()) {
    part.budget = fit_budget(bench, options, part, examples, held_out);
  } else {
    part.budget = {std::min(options.budget[0], part.clusters), std::min(options.budget[1], part.clusters),
                   !options.fixed, options.by_row};
  }
  const RouterQuality quality = router_quality(bench.backend(), examples, held_out, part, part.budget);
  part.write(options.out, {{kPartTargetKey, to_json(bench.target().fingerprint())},
                           {"drafter", bench.drafter_name()},
                           {"core", options.core_size},
                           {"bands", options.bands},
                           {"router_loss", options.loss},
                           {"contexts", examples.size()},
                           {"held_out",
                            {{"contexts", held},
                             {"mass", quality.mass},
                             {"oracle_mass", quality.oracle_mass},
                             {"best_token", quality.best},
                             {"tokens", quality.tokens}}}});
  Output out;
  out.line(fmt::format("{}: {} clusters, router of {}, learned from {} contexts (loss {:.4f})", options.out,
                       part.clusters, part.router_hidden, learned.size(), last_loss));
  out.line(fmt::format("  budget {}, {}{}", part.budget.first, part.budget.second,
                       part.budget.position_aware ? ", then fewer" : ""));
  out.line(
      fmt::format("  on {} contexts held out: {:.1f} tokens ({:.1f}% of the vocabulary) hold {:.2f}% of the "
                  "drafter's best {} "
                  "(the best clusters: {:.2f}%), its first in {:.2f}%",
                  held, quality.tokens, 100 * quality.tokens / static_cast<double>(part.vocab),
                  100 * quality.mass, options.top, 100 * quality.oracle_mass, 100 * quality.best));
  out.finish();
  return interrupt.exit_code();
}

}  // namespace

void add_train_dynaspec(CLI::App& train, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = train.add_subcommand(
      "dynaspec", "Cluster a drafter's vocabulary and teach a router to choose: --spec-vocab dynaspec");
  command->set_help_flag("-h,--help", "Print this help message and exit");
  command->option_defaults()->always_capture_default();
  add_hub_flags(*command,
                command->add_option("-m,--model", options->bench.model, "Target model")->required());
  add_draft_hub_flag(*command,
                     command->add_option("-d,--draft-model", options->bench.draft, "Draft model or head"));
  command->add_option("--spec-type", options->bench.type, "What it is used as (default: what it is)");
  command
      ->add_option("--prompts", options->prompts,
                   "JSON lines with messages, turns or text (.jsonl or .jsonl.xz); repeatable")
      ->required();
  command->add_option("-o,--out", options->out, "Folder to write")->required();
  command->add_option("--limit", options->limit, "So many prompts of each file (0: all)")
      ->check(in_range<std::int64_t>(0, std::int64_t{1} << 40));
  command->add_option("--max-prompt", options->longest_prompt, "Leave out prompts of more tokens")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_option("-n,--max-tokens", options->max_tokens, "Longest answer")
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_option("--temperatures", options->temperatures, "Of the target, one after the other")
      ->delimiter(',')
      ->check(in_range(0.0, 100.0));
  command->add_option("--minutes", options->minutes, "Draft for at most so long")->check(in_range(0.01, 1e6));
  command->add_option("--examples", options->examples, "Learn from at most so many contexts")
      ->check(in_range<std::int64_t>(1000, 1 << 26));
  command->add_option("--top", options->top, "The drafter's best tokens that count, of each context")
      ->check(in_range<std::int64_t>(1, 1024));
  command->add_option("--router-input", options->input, "What the router reads")
      ->check(CLI::IsMember({"state", "previous"}));
  command->add_option("--router-hidden", options->router.hidden, "Width of the router")
      ->check(in_range<std::int64_t>(1, 1 << 16));
  command->add_option("--loss", options->loss, "top: the paper's; mass: shares of the drafter's probability")
      ->check(CLI::IsMember({"mass", "top"}));
  command->add_option("--epochs", options->router.epochs, "Passes over the contexts")
      ->check(in_range(0.01, 1e4));
  command->add_option("--clusters", options->clusters, "Clusters (0: the vocabulary / 128, at most 1024)")
      ->check(in_range<std::int64_t>(0, 1 << 20));
  command->add_option("--iterations", options->iterations, "Of k-means")->check(in_range(1, 1000));
  auto* core = command->add_option("--core", options->core,
                                   "List of frequent tokens (of train frspec), the first of which every "
                                   "shortlist has");
  command->add_option("--core-size", options->core_size, "So many of them (0: none)")
      ->check(in_range<std::int64_t>(0, 1 << 24))
      ->needs(core);
  command->add_option("--share", options->share, "Of the vocabulary that the folder's own budget computes")
      ->check(in_range(0.001, 1.0));
  command->add_option("--budget", options->budget, "In its place: clusters at step 0 and at step 1")
      ->delimiter(',')
      ->expected(2)
      ->check(in_range<std::int64_t>(1, 1 << 20));
  command->add_flag(
      "!--no-bands", options->bands,
      "Cluster the tokens beside the core over the whole vocabulary (the paper's), not in bands of "
      "like frequency");
  command->add_flag(
      "--row-budget", options->by_row,
      "The budget is every row's, and a level gets the union (the paper's), not one for the level");
  command->add_flag("--fixed", options->fixed, "The folder's own budget is the same at every step");
  command->add_option("--seed", options->router.seed, "Of the router's beginning");
  command->add_option("-t,--threads", options->bench.threads, "Threads (0: all cores)")
      ->check(in_range(0, 1024));
  command->callback([options, &action] { action = [options] { return train_dynaspec(*options); }; });
}

}  // namespace augur::cli
