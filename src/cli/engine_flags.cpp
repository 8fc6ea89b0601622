#include "cli/engine_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/hub_flags.h"
#include "cli/limit_flags.h"
#include "cli/plan_flags.h"
#include "cli/progress.h"
#include "cli/tell.h"
#include "cli/validators.h"
#include "draft/detect.h"
#include "engine/engine_limits.h"

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

}  // namespace

void add_engine_flags(CLI::App& command, EngineOptions& options) {
  command.option_defaults()->group("Model");
  CLI::Option* model =
      command.add_option("-m,--model", options.model, "Hugging Face folder or GGUF file")->required();
  add_hub_flags(command, model);
  CLI::Option* draft = command.add_option("--spec-draft-model,--model-draft", options.draft_model,
                                          "(-md) Smaller model of the same vocabulary that drafts");
  add_draft_hub_flag(command, draft);
  add_words(command, "--spec-draft-weights", options.draft_weights,
            "Its weights in memory. auto: as stored, but floats in 4 bits where that is faster; "
            "native: as stored");
  command
      .add_option_function<std::vector<std::string>>(
          "--spec-allow",
          [&options](const std::vector<std::string>& given) {
            for (const std::string& one : given) {
              options.draft_models.push_back(EngineOptions::NamedDraftModel::parse(one));
            }
          },
          "A further draft model or head, which --spec-type and requests name as @NAME; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=PATH");
  add_plan_flag(command, "vocab", options.speculation);
  command.add_option("--spec-datastore", options.datastore,
                     "suffix: a file of 'augur datastore build' to retrieve from");
  command.add_option("-t,--threads", options.threads, "Threads; 0: one for each core that it may use")
      ->check(in_range(0, 1024));
  command.add_flag("--pin", options.pin_threads, "Bind each thread to a core");
  command.add_option("-c,--ctx-size", options.context, "Tokens a sequence may hold; 0: the model's limit")
      ->check(in_range<std::int64_t>(0, std::int64_t{1} << 32));
  add_words(command, "--weights", options.weights,
            "Weights in memory. native: quantised ones as they are stored, others in bf16 (auto: native)");
  add_law_flag(command, options.law);
  add_words(command, "--kv-type", options.kv, "Keys and values in memory (auto: bf16; f32 with f32 weights)");
}

CLI::Option* add_law_flag(CLI::App& command, ArithmeticLaw& law) {
  return add_words(
      command, "--law", law,
      "Order of sums with bf16 weights. chain: every processor's, slower with AMX; blocks: AMX's "
      "(auto: the fastest here)");
}

void add_engine_limit_flags(CLI::App& command, EngineOptions& options) {
  command.option_defaults()->group("Limits");
  const EngineLimits limits(options);
  for (const LimitOf<EngineLimits>& limit : engine_limit_table()) {
    add_limit_flag(command, limit, limits.*limit.member,
                   [&options, member = limit.member](std::int64_t value) {
                     EngineLimits changed(options);
                     changed.*member = value;
                     changed.apply_to(options);
                   });
  }
}

void add_sampling_flags(CLI::App& command, SamplingOptions& options) {
  command.option_defaults()->group("Sampling");
  command
      .add_option("--temp,--temperature", options.temperature, "Temperature; 0: always the likeliest token")
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

void use_own_layers(EngineOptions& options) {
  if (options.draft_model.empty() && !own_drafter_type(Checkpoint::open(options.model)).empty()) {
    options.draft_model = options.model;
  }
}

Engine load_engine(const EngineOptions& options) {
  Progress progress("loading");
  EngineOptions with_progress = options;
  with_progress.progress = [&](std::string_view what, double fraction) { progress.update(fraction, what); };
  // Later ones (a request's own policy) come when the bar is gone.
  with_progress.log = [](LogLevel level, std::string_view text) {
    if (level >= LogLevel::Warning) tell("augur: warning: {}\n", text);
  };
  return Engine(with_progress);
}

}  // namespace augur::cli
