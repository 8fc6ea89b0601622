#include "cli/engine_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "augur/engine.h"
#include "cli/progress.h"
#include "cli/validators.h"
#include "cli/weights_flag.h"

namespace augur::cli {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr double kMaxBias = 1e9;

/// "15043+1.5", "15043-inf": the token, then a signed number.
std::pair<TokenId, float> parse_logit_bias(const std::string& text) {
  const char* end = text.data() + text.size();
  TokenId token = -1;
  const auto [sign, bad_token] = std::from_chars(text.data(), end, token);
  if (bad_token == std::errc{} && token >= 0 && sign != end && (*sign == '+' || *sign == '-')) {
    float bias = 0;
    // from_chars takes a minus sign but no plus.
    const auto [rest, bad_bias] = std::from_chars(*sign == '+' ? sign + 1 : sign, end, bias);
    const bool signed_once = *sign == '-' || (sign + 1 != end && sign[1] != '-');
    if (bad_bias == std::errc{} && rest == end && signed_once && bias <= kMaxBias) return {token, bias};
  }
  throw CLI::ValidationError("--logit-bias", fmt::format("'{}' is not TOKEN_ID+BIAS or TOKEN_ID-BIAS", text));
}

/// The type's own name, where llama.cpp's ("draft-simple") is given too.
std::optional<std::string> spec_type(const std::string& given) {
  if (given == "none" || given == "auto") return given;
  for (const SpeculationType& type : speculation_types()) {
    if (given == type.name || (!type.alias.empty() && given == type.alias)) return type.name;
  }
  return std::nullopt;
}

std::string spec_type_names() {
  std::string names = "none, auto";
  for (const SpeculationType& type : speculation_types()) names += ", " + type.name;
  return names;
}

bool needs_draft_model(const std::string& name) {
  const std::vector<SpeculationType> types = speculation_types();
  return name == "auto" || std::any_of(types.begin(), types.end(), [&](const SpeculationType& type) {
           return type.name == name && type.needs_draft_model;
         });
}

}  // namespace

void add_engine_flags(CLI::App& command, EngineOptions& options) {
  command.option_defaults()->group("Model");
  command.add_option("-m,--model", options.model, "Hugging Face folder or GGUF file")->required();
  command.add_option("--spec-draft-model,--model-draft", options.draft_model,
                     "(-md) Smaller model of the same vocabulary that drafts");
  command
      .add_option("--spec-vocab", options.draft_vocabulary,
                  "What the drafter's head computes: full, frspec:FILE[:SIZE] (the most frequent tokens), "
                  "pafr:FILE[:SIZE] (fewer at later steps), hot:FILE[:SIZE] (follows the text), "
                  "dynaspec:FOLDER[:K|:K0,K1] (clusters that suit the context)")
      ->type_name("VOCABULARY")
      ->capture_default_str();
  command.add_option("--spec-datastore", options.datastore,
                     "suffix: a file of 'augur datastore build' to retrieve from");
  command.add_option("-t,--threads", options.threads, "Threads; 0: one per core")->check(in_range(0, 1024));
  command.add_flag("--pin", options.pin_threads, "Bind each thread to a core");
  command.add_option("-c,--ctx-size", options.context, "Tokens a sequence may hold; 0: the model's limit")
      ->check(in_range<std::int64_t>(0, std::int64_t{1} << 32));
  add_weights_choice(
      command, options.weights,
      "Weights in memory. native: quantised ones as they are stored, others in bf16 (auto: native)");
  add_choice<KvFormat>(command, "--kv-type", options.kv,
                       {{"auto", KvFormat::Auto}, {"bf16", KvFormat::BF16}, {"q8_0", KvFormat::Q8_0}},
                       "Keys and values in memory (auto: bf16)");
}

void add_sampling_flags(CLI::App& command, SamplingOptions& options) {
  command.option_defaults()->group("Sampling");
  command.add_option("--temp", options.temperature, "Temperature; 0: always the likeliest token")
      ->check(in_range(0.0, 100.0))
      ->capture_default_str();
  command.add_option("--top-k", options.top_k, "Only the k likeliest tokens; 0: off")
      ->check(in_range(0, kMaxInt))
      ->capture_default_str();
  command.add_option("--top-p", options.top_p, "Only the likeliest tokens that together have probability p")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--min-p", options.min_p, "Only tokens with p times the likeliest one's probability")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--repeat-penalty", options.repetition_penalty,
                  "Divides the logits of recent tokens; 1: off")
      ->check(in_range(1e-3, 1e3))
      ->capture_default_str();
  command.add_option("--presence-penalty", options.presence_penalty, "Taken off recent tokens once")
      ->check(in_range(-1e3, 1e3))
      ->capture_default_str();
  command.add_option("--frequency-penalty", options.frequency_penalty, "Taken off per recent occurrence")
      ->check(in_range(-1e3, 1e3))
      ->capture_default_str();
  command.add_option("--repeat-last-n", options.penalty_window, "What counts as recent; -1: everything")
      ->check(in_range(-1, kMaxInt))
      ->capture_default_str();
  command
      .add_option_function<std::vector<std::string>>(
          "--logit-bias",
          [&options](const std::vector<std::string>& given) {
            for (const std::string& text : given) options.logit_bias.push_back(parse_logit_bias(text));
          },
          "TOKEN_ID+BIAS or TOKEN_ID-BIAS, repeatable")
      ->type_name("BIAS")
      ->allow_extra_args(false);
  command.add_option("--seed", options.seed, "Seed of the noise; the same seed gives the same text")
      ->check(in_range<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
}

void add_speculation_flags(CLI::App& command, SpeculationOptions& options) {
  command.option_defaults()->group("Speculation");
  auto* types =
      command
          .add_option_function<std::vector<std::string>>(
              "--spec-type",
              [&options](const std::vector<std::string>& given) {
                options.types.clear();
                for (const std::string& text : given) options.types.push_back(*spec_type(text));
              },
              spec_type_names() +
                  "; several draft one tree together: eagle3,ngram. auto: what the files of -md are "
                  "made for (default with -md, otherwise none)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("TYPE")
          ->check(CLI::Validator(
              [](const std::string& text) {
                return spec_type(text) ? std::string()
                                       : fmt::format("'{}' is none of {}", text, spec_type_names());
              },
              ""));
  std::string policies =
      "What shapes the drafts, NAME[:KEY=VALUE,...]; by default auto, or what the flags below say where "
      "any is given";
  for (const SpeculationPolicy& policy : speculation_policies()) {
    policies += fmt::format("\n{}: {}", policy.name, policy.summary);
  }
  auto* policy = command.add_option("--spec-policy", options.policy, policies)->type_name("POLICY");
  auto* most =
      command.add_option("--spec-draft-n-max", options.draft_max, "Tokens of a drafted chain, at most")
          ->check(in_range(1, 1024))
          ->capture_default_str();
  auto* fewest =
      command.add_option("--spec-draft-n-min", options.draft_min, "Shorter chains are not verified")
          ->check(in_range(0, 1024))
          ->capture_default_str();
  auto* surest =
      command
          .add_option(
              "--spec-draft-p-min", options.draft_p_min,
              "A chain ends before a token less probable than this (dspark: where its confidence is less)")
          ->check(in_range(0.0, 1.0))
          ->capture_default_str();
  auto* topk = command.add_option("--spec-tree-topk", options.tree_topk, "Candidates per node; 1: a chain")
                   ->check(in_range(1, 256))
                   ->default_str("4");
  auto* depth = command.add_option("--spec-tree-depth", options.tree_depth, "Levels of the tree")
                    ->check(in_range(1, 256))
                    ->default_str("4");
  auto* size =
      command.add_option("--spec-tree-size", options.tree_size, "Nodes verified, the newest token included")
          ->check(in_range(2, 4096))
          ->default_str("16");
  auto* shape =
      command
          .add_option(
              "--spec-tree", options.static_tree,
              "A fixed tree: mc_sim_7b_63, eagle_mc_sim_7b_63, or a JSON file of paths: [[0],[1],[0,0]]")
          ->type_name("NAME|FILE");
  command
      .add_option("--spec-layerskip-exit", options.exit_layer,
                  "layerskip: layers that draft; 0: a quarter of the model's")
      ->check(in_range(0, 1024))
      ->capture_default_str();
  add_choice<Verification>(
      command, "--spec-verify", options.verification,
      {{"walk", Verification::Walk}, {"rejection", Verification::Rejection}},
      "walk: the same ids as plain decoding; rejection: drafts are drawn and accepted by "
      "rejection sampling, which keeps the law of the text but not its ids");
  command.add_flag("!--no-spec-coupling", options.coupling,
                   "Drafters ignore the noise of the target's draws, as in the papers");

  command.parse_complete_callback(
      [&command, &options, types, policy, most, fewest, surest, topk, depth, size, shape] {
        const bool has_draft_model = command.get_option("--spec-draft-model")->count() > 0;
        if (types->count() == 0 && has_draft_model) options.types = {"auto"};
        for (const std::string& type : options.types) {
          if (needs_draft_model(type) && !has_draft_model) {
            throw CLI::ValidationError("--spec-type", type + " needs a draft model: -md MODEL");
          }
        }
        if (options.types.size() > 1 && std::count(options.types.begin(), options.types.end(), "none") > 0) {
          throw CLI::ValidationError("--spec-type", "none stands alone");
        }
        for (const CLI::Option* flag : {most, fewest, surest, topk, depth, size, shape}) {
          if (flag->count() == 0) continue;
          if (policy->count() == 0) return;
          if (options.policy == "auto" || options.policy.starts_with("auto:"))
            throw CLI::ValidationError(flag->get_name(), "--spec-policy auto decides that itself");
        }
        if (policy->count() == 0) options.policy = "auto";
      });
}

Engine load_engine(const EngineOptions& options) {
  Progress progress("loading");
  EngineOptions with_progress = options;
  with_progress.progress = [&](std::string_view what, double fraction) { progress.update(fraction, what); };
  // Later ones (a request's own policy) come when the bar is gone.
  with_progress.warning = [](std::string_view text) { fmt::print(stderr, "augur: warning: {}\n", text); };
  return Engine(with_progress);
}

}  // namespace augur::cli
