// Parts that are calibrated from recorded traces.
#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "cli/validators.h"
#include "common.h"
#include "files/json_reader.h"
#include "files/safetensors.h"
#include "lab/train/classifier.h"
#include "lab/train/device.h"
#include "lab/train/part_writer.h"
#include "lab/train/regression_tree.h"
#include "lab/train/stratification.h"
#include "lab/train/trace_set.h"
#include "parts.h"

namespace augur {
namespace {

struct TraceFlags {
  std::vector<std::string> traces;
  std::string out;
  double held_out = 0.1;

  void add_to(CLI::App& app) {
    app.option_defaults()->always_capture_default();
    app.add_option("--traces", traces, "Files that `augur trace` recorded; repeatable")->required();
    app.add_option("-o,--out", out, "Folder of the result")->required();
    app.add_option("--held-out", held_out, "Share of the sequences kept for grading")
        ->check(cli::in_range(0.01, 0.5));
  }
};

struct ClassifierFlags {
  TraceFlags common;
  FitOptions fit{.validation = 0.1};
  int hidden = 48;
  int blocks = 1;
  int threads = 0;
  std::string device = "auto";
  std::string init_from;
  std::vector<std::string> features;  ///< C2T's; none: all

  void add_to(CLI::App& app) {
    common.add_to(app);
    app.add_option("--epochs", fit.epochs, "Passes over the examples")->check(cli::in_range(1, 10000));
    app.add_option("--batch", fit.batch, "Examples for one optimizer step")->check(cli::in_range(1, 1 << 30));
    app.add_option("--lr", fit.learning_rate, "Learning rate of Adam")->check(cli::in_range(1e-12, 1e3));
    app.add_option("--final-lr", fit.final_rate, "Share of the learning rate that a cosine leaves at the end")
        ->check(cli::in_range(0.0, 1.0));
    app.add_option("--weight-decay", fit.weight_decay, "Of AdamW")->check(cli::in_range(0.0, 1e3));
    app.add_option("--validation", fit.validation,
                   "Share of the examples that choose the epoch instead of being learnt (0: the last epoch)")
        ->check(cli::in_range(0.0, 0.5));
    app.add_option("--seed", fit.seed, "Initial weights and order of the examples");
    app.add_option("-t,--threads", threads, "Threads (0: all cores)")->check(cli::in_range(0, 1024));
    add_device(app, device);
  }
};

std::string provenance(const TraceSet& traces, const std::string& command) {
  const TraceHeader& header = traces.header();
  return fmt::format(
      "- target: {}, {}\n- drafter: {}; trees of {} candidates a node, {} levels, {} nodes verified\n- "
      "traces: {}\n"
      "- made by: `{}`\n",
      header.target_name, to_string(header.target), header.drafter, header.top_k, header.depth, header.size,
      fmt::join(traces.files(), ", "), command);
}

/// Takes the weights of a classifier calibrated earlier.
void load_weights(Classifier& classifier, const std::string& folder) {
  const auto store = open_safetensors_folder(folder);
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : classifier.parameters) {
    tensor.copy_(to_torch(store->require(name, tensor.sizes().vec())));
  }
}

/// What the held-out examples say of a classifier, beside a baseline that ranks by one number.
std::string grade(const Classifier& classifier, const Examples& examples, const std::string& baseline) {
  const std::vector<float> scores = probabilities(classifier, examples);
  const Separation own = separation(scores, examples.labels);
  std::string text = fmt::format(
      "Held out: {} examples, {:.2f}% accepted; AUC {:.4f} ({}: {:.4f}).\n\n| threshold | recall | taken | "
      "recall of "
      "{} at as many taken |\n| --- | --- | --- | --- |\n",
      examples.size(), 100 * own.positive_rate, own.auc, baseline,
      separation(examples.baseline, examples.labels).auc, baseline);
  for (const double threshold : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}) {
    const Operating at = operating_point(scores, examples.labels, threshold);
    text += fmt::format("| {:.1f} | {:.4f} | {:.2f}% | {:.4f} |\n", threshold, at.recall, 100 * at.taken,
                        recall_at(examples.baseline, examples.labels, at.taken));
  }
  return text;
}

int train_c2t(ClassifierFlags flags, const std::string& command) {
  const torch::Device device = choose_device(flags.device);
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  const Stopwatch clock;
  const TraceSet traces(flags.common.traces, flags.common.held_out);
  const std::vector<C2tFeature> features = c2t_features(flags.features);
  const SplitExamples examples = c2t_examples(traces, features);
  log_line(fmt::format("{} candidates, {} of them accepted, {} held out", examples.train.size(),
                       examples.train.positives(), examples.held_out.size()));
  nlohmann::json names = nlohmann::json::array();
  std::vector<float> scale;
  for (const C2tFeature& feature : features) {
    names.push_back(feature.name);
    scale.push_back(feature.scale);
  }
  Classifier classifier = c2t_classifier(flags.hidden, scale, flags.fit.seed, device);
  if (!flags.init_from.empty()) {
    const std::string file = flags.init_from + "/config.json";
    const nlohmann::json config = read_json(file);
    const std::string warning =
        check_fingerprint(file, config, traces.header().target, Strictness::SameFamily);
    if (const auto made = config.find("features"); made == config.end() || *made != names) {
      throw Error("{}: features: expected {}, found {}", file, names.dump(),
                  made == config.end() ? "none" : made->dump());
    }
    if (!warning.empty()) log_line(warning);
    load_weights(classifier, flags.init_from);
  }
  flags.fit.log = log_line;
  fit(classifier, examples.train, flags.fit);
  const std::string grades = grade(classifier, examples.held_out, "joint probability");
  log_line(grades);
  write_part(flags.common.out, "c2t", traces.header(),
             {{"features", names}, {"hidden", flags.hidden}, {"scale", scale}}, classifier.parameters,
             fmt::format("# C2T classifier\n\n{}- examples: {}, {} accepted; {} epochs, {} negatives a "
                         "positive; {:.1f} s\n\n{}",
                         provenance(traces, command), examples.train.size(), examples.train.positives(),
                         flags.fit.epochs, flags.fit.negatives, clock.ms() / 1e3, grades));
  return 0;
}

/// What the acceptance head learns, and how much it counts.
struct AcceptanceFlags {
  bool state_only = false;
  std::string labels = "hard";
  double accept_weight = 1.0;
  double reject_weight = 1.0;
};

int train_acceptance(ClassifierFlags flags, const AcceptanceFlags& learnt, const std::string& command) {
  const torch::Device device = choose_device(flags.device);
  if (flags.threads > 0) at::set_num_threads(flags.threads);
  const Stopwatch clock;
  const TraceSet traces(flags.common.traces, flags.common.held_out);
  const SplitExamples examples =
      acceptance_examples(traces, learnt.labels == "soft" ? AcceptanceLabels::Soft : AcceptanceLabels::Hard);
  log_line(fmt::format("{} drafted nodes, {} of them accepted, {} held out", examples.train.size(),
                       examples.train.positives(), examples.held_out.size()));
  const auto make = learnt.state_only ? state_classifier : acceptance_classifier;
  Classifier classifier = make(static_cast<int>(examples.train.width), flags.blocks, flags.fit.seed, device);
  flags.fit.log = log_line;
  flags.fit.positive_weight = learnt.accept_weight;
  flags.fit.negative_weight = learnt.reject_weight;
  fit(classifier, examples.train, flags.fit);
  const std::string grades = grade(classifier, examples.held_out, "the drafter's probability");
  log_line(grades);
  nlohmann::json fields = {{"hidden", traces.header().hidden},
                           {"blocks", flags.blocks},
                           {"labels", learnt.labels},
                           {"positive_weight", learnt.accept_weight},
                           {"reject_weight", learnt.reject_weight}};
  if (!learnt.state_only) {
    fields["rms_norm_eps"] = kAcceptanceEps;
    for (const char* number : {"entropy_weight", "log_prob_weight"}) {
      fields[number] = classifier.parameters.back().second.item<double>();
      classifier.parameters.pop_back();
    }
  }
  write_part(
      flags.common.out, "acceptance", traces.header(), fields, classifier.parameters,
      fmt::format("# Acceptance head\n\n{}- examples: {}, {} accepted, {} labels; {} epochs, acceptances "
                  "weigh {}, rejections {}; {:.1f} s\n\n{}",
                  provenance(traces, command), examples.train.size(), examples.train.positives(),
                  learnt.labels, flags.fit.epochs, learnt.accept_weight, learnt.reject_weight,
                  clock.ms() / 1e3, grades));
  return 0;
}

struct HeteroFlags {
  TraceFlags common;
  RegressionTreeOptions tree;
  bool all_rounds = false;
  std::string of = "rank";
  std::string split = "squares";
};

// Beside the three of the paper's bins: its study of granularity.
constexpr std::array<int, 3> kFinerLevels = {4, 5, 6};

int train_hetero(const HeteroFlags& flags, const std::string& command) {
  const Stopwatch clock;
  const TraceSet traces(flags.common.traces, flags.common.held_out);
  const bool lengths = flags.of == "length";
  RegressionTreeOptions how = flags.tree;
  how.loss = flags.split == "weighted" ? SplitLoss::Weighted : SplitLoss::Squares;
  std::array<std::vector<double>, 2> entropies, outcomes;  // trained on, held out
  traces.each([&](const TraceSequence& sequence, bool held_out) {
    for (const TraceRound& round : sequence.rounds) {
      const HeteroPair pair = hetero_pair(sequence, round, traces.header().size);
      // A tree that the text's end cut short has a smaller sum than policies will see.
      if (pair.levels < traces.header().depth) continue;
      if (!pair.known) continue;
      if (!lengths && (pair.rank == 0 || !(pair.fully_accepted || flags.all_rounds))) continue;
      entropies[held_out].push_back(pair.entropy);
      outcomes[held_out].push_back(lengths ? pair.length : pair.rank);
    }
  });
  const std::string kind = lengths            ? "rounds"
                           : flags.all_rounds ? "rounds that accepted something"
                                              : "fully accepted rounds";
  if (entropies[0].empty()) throw Error("{}: no {}", traces.files().front(), kind);
  const Stopwatch fitting;
  const RegressionTree tree = fit_regression_tree(entropies[0], outcomes[0], how);
  const double fit_ms = fitting.ms();

  // Separation: how much of the held-out variance the bins explain.
  double mean = 0, spread = 0, left = 0;
  for (const double r : outcomes[0]) mean += r / static_cast<double>(outcomes[0].size());
  for (std::size_t i = 0; i < outcomes[1].size(); ++i) {
    const auto bin = static_cast<std::size_t>(
        std::lower_bound(tree.thresholds.begin(), tree.thresholds.end(), entropies[1][i]) -
        tree.thresholds.begin());
    spread += (outcomes[1][i] - mean) * (outcomes[1][i] - mean);
    left += (outcomes[1][i] - tree.bins[bin].mean) * (outcomes[1][i] - tree.bins[bin].mean);
  }
  const std::string summary = fmt::format(
      "{} {}; held out: {}, of whose variance of {}s the bins explain {:.1f}%; fitted in {:.1f} ms",
      entropies[0].size(), kind, outcomes[1].size(), flags.of, spread > 0 ? 100 * (1 - left / spread) : 0.0,
      fit_ms);
  log_line(summary);
  nlohmann::json bins = nlohmann::json::array();
  std::string table = fmt::format(
      "\n| bin | entropy | mean {} | deviation | rounds |\n| --- | --- | --- | --- | --- |\n", flags.of);
  for (const TreeBin& bin : tree.bins) {
    table += fmt::format("| {} | {:.3f} to {:.3f} | {:.2f} | {:.2f} | {} |\n", bins.size(), bin.low, bin.high,
                         bin.mean, bin.deviation, bin.count);
    bins.push_back({{"low", bin.low},
                    {"high", bin.high},
                    {lengths ? "mean_length" : "mean_tcr", bin.mean},
                    {"count", bin.count}});
  }
  table +=
      "\nLow bins (three eighths of all) of finer trees:\n\n| levels | bins | low up to | Jaccard |\n"
      "| --- | --- | --- | --- |\n";
  for (const StratumOverlap& o : stratum_overlaps(entropies[0], outcomes[0], tree, how, kFinerLevels))
    table += fmt::format("| {} | {} | {:.3f} | {:.3f} |\n", o.levels, o.bins, o.threshold, o.jaccard);
  log_line(table);
  write_part(flags.common.out, "hetero", traces.header(),
             {{"levels", flags.tree.levels},
              {"smallest", flags.tree.smallest},
              {"split", flags.split},
              {"thresholds", tree.thresholds},
              {"bins", bins},
              {"top_k", traces.header().entropy_top_k},
              {"depth", traces.header().depth}},
             {},
             fmt::format("# HeteroSpec bins\n\n{}- {}; {:.1f} s with reading\n{}",
                         provenance(traces, command), summary, clock.ms() / 1e3, table));
  return 0;
}

}  // namespace

Part add_c2t(Program& program) {
  CLI::App* sub = program.app.add_subcommand("c2t", "C2T's classifier of candidates, from traces");
  auto flags = std::make_shared<ClassifierFlags>();
  flags->fit.negatives = 4;
  flags->fit.epochs = 30;
  flags->fit.learning_rate = 3e-3;
  flags->add_to(*sub);
  sub->add_option("--hidden", flags->hidden, "Width of the hidden layer")->check(cli::in_range(1, 4096));
  sub->add_option("--negatives", flags->fit.negatives, "Rejected examples for every accepted one (0: all)")
      ->check(cli::in_range(0.0, 1e6));
  sub->add_option("--features", flags->features,
                  "What it looks at, of P (joint probability), logP, H (entropy) and d (depth); default: all")
      ->delimiter(',')
      ->check(CLI::IsMember({"P", "logP", "H", "d"}));
  sub->add_option("--init-from", flags->init_from, "Folder of a classifier to fine-tune");
  return [flags, &program] { return train_c2t(*flags, program.command); };
}

Part add_acceptance(Program& program) {
  CLI::App* sub =
      program.app.add_subcommand("acceptance", "Acceptance head on the drafter's states, from traces");
  auto flags = std::make_shared<ClassifierFlags>();
  // Learning starts from the drafter's own estimate, from which larger steps only lead away.
  flags->fit.epochs = 12;
  flags->fit.learning_rate = 1e-4;
  flags->fit.final_rate = 0;
  flags->fit.weight_decay = 0.1;
  flags->add_to(*sub);
  // Weighed, the head's probabilities are no probabilities any more.
  auto learnt = std::make_shared<AcceptanceFlags>();
  sub->add_option("--blocks", flags->blocks, "Residual blocks")->check(cli::in_range(1, 2));
  sub->add_flag(
      "--state-only", learnt->state_only,
      "The head sees the drafter's state as it is (the paper's), not its direction and how the drafter "
      "came by the token");
  sub->add_option(
         "--labels", learnt->labels,
         "hard: whether the text goes through a token; soft: the paper's min(1, q / p), of traces with "
         "--target-probabilities")
      ->check(CLI::IsMember({"hard", "soft"}));
  sub->add_option("--accept-weight", learnt->accept_weight, "Weight of acceptance in the loss")
      ->check(cli::in_range(1e-6, 1e6));
  sub->add_option("--reject-weight", learnt->reject_weight,
                  "Weight of rejection in the loss (the paper's code: 6, where most are accepted)")
      ->check(cli::in_range(1e-6, 1e6));
  return [flags, learnt, &program] { return train_acceptance(*flags, *learnt, program.command); };
}

Part add_hetero(Program& program) {
  CLI::App* sub = program.app.add_subcommand("hetero", "HeteroSpec's entropy bins, from traces");
  auto flags = std::make_shared<HeteroFlags>();
  flags->common.add_to(*sub);
  sub->add_option("--levels", flags->tree.levels, "Levels of the regression tree")
      ->check(cli::in_range(1, 10));
  sub->add_option("--smallest", flags->tree.smallest, "Rounds in a bin, at least")
      ->check(cli::in_range(1, 1 << 30));
  sub->add_option(
         "--split", flags->split,
         "What a split makes least: the sum of squared deviations (CART), or the paper's equation 2, each "
         "side's weighted by its share of the rounds")
      ->check(CLI::IsMember({"squares", "weighted"}));
  sub->add_option(
         "--of", flags->of,
         "What the bins shall tell apart: terminal confidence ranks, or accepted lengths (of all rounds)")
      ->check(CLI::IsMember({"rank", "length"}));
  sub->add_flag("--all-rounds", flags->all_rounds,
                "Learn from every round that accepted something, not only from fully accepted ones");
  return [flags, &program] { return train_hetero(*flags, program.command); };
}

}  // namespace augur
