#include "lab/cli/spec_comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/engine_access.h"
#include "base/error.h"
#include "decode/decoder.h"
#include "lab/bench/machine_probe.h"
#include "lab/suite/cell.h"
#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"

namespace augur::cli {
namespace {

/// Fills in what is said of the mean call.
void set_mean_call(VariantFigures& figures, const SpeculationStatistics& sum) {
  if (sum.calls == 0) return;
  const auto calls = static_cast<double>(sum.calls);
  figures.verified_tokens = static_cast<double>(sum.verified_tokens) / calls;
  figures.draft_ms = sum.draft_ms / calls;
  figures.verify_ms = sum.verify_ms / calls;
  figures.other_ms = sum.other_ms / calls;
  for (const std::int64_t accepted : sum.accepted_per_position) {
    figures.accepted_per_position.push_back(static_cast<double>(accepted) / calls);
  }
}

/// All runs of one prompt with one variant.
struct Runs {
  std::vector<TokenId> tokens;  ///< of the first run
  std::int64_t written = 0;     ///< tokens of all runs
  std::vector<double> rate;
  std::vector<double> rate_with_prompt;
  SpeculationStatistics sum;  ///< over the runs
  ForecastCheck forecasts;
  bool differs = false;

  void add(const Result& result, const ForecastCheck& more) {
    forecasts.add(more);
    if (rate.empty()) {
      tokens = result.tokens;
    } else if (tokens != result.tokens) {
      differs = true;  // not even the same as its own first run
    }
    written += std::ssize(result.tokens);
    add_to(sum, result.speculation);
    const auto count = static_cast<double>(result.tokens.size());
    rate.push_back(1000 * count / std::max(result.decode_ms, 1e-6));
    rate_with_prompt.push_back(1000 * count / std::max(result.decode_ms + result.prompt_ms, 1e-6));
  }
};

/// Of a prompt's fastest variant.
double best_rate(const std::vector<Runs>& variants) {
  double best = 0;
  for (const Runs& runs : variants) best = std::max(best, median(runs.rate));
  return best;
}

/// prompts[i][v]: prompt i with variant v.
SuiteFigures summarise(const std::string& name, const std::vector<std::vector<Runs>>& prompts,
                       std::size_t variants) {
  SuiteFigures figures{
      .suite = name, .prompts = static_cast<int>(prompts.size()), .tokens = 0, .variants = {}};
  for (std::size_t v = 0; v < variants; ++v) {
    VariantFigures f;
    std::int64_t tokens = 0;
    std::int64_t written = 0;
    SpeculationStatistics sum;
    for (const auto& prompt : prompts) {
      const Runs& runs = prompt[v];
      f.tokens_per_second += median(runs.rate) / figures.prompts;
      f.with_prompt_per_second += median(runs.rate_with_prompt) / figures.prompts;
      f.different += runs.differs || runs.tokens != prompt[0].tokens ? 1 : 0;
      tokens += std::ssize(runs.tokens);
      written += runs.written;
      add_to(sum, runs.sum);
      f.share_of_best += median(runs.rate) / best_rate(prompt) / figures.prompts;
      f.forecasts.add(runs.forecasts);
    }
    f.mean_accepted_length =
        sum.calls > 0 ? static_cast<double>(written) / static_cast<double>(sum.calls) : 0;
    set_mean_call(f, sum);
    if (v == 0) figures.tokens = tokens;
    const VariantFigures& plain = v == 0 ? f : figures.variants.front();
    f.speedup = f.tokens_per_second / plain.tokens_per_second;
    f.speedup_with_prompt = f.with_prompt_per_second / plain.with_prompt_per_second;
    figures.variants.push_back(std::move(f));
  }
  return figures;
}

/// The same kind of request for a text that no suite holds.
Request warm_up_like(Request request) {
  request.prompt_tokens.clear();
  if (request.messages.empty()) {
    request.prompt = kWarmUpText;
  } else {
    request.messages = {{"user", kWarmUpText}};
  }
  return request;
}

}  // namespace

SpecVariant parse_variant(const std::string& text, const SpeculationOptions& base) {
  Method method = parse_method(text, base);
  if (!method.draft_model.empty()) {
    throw Error("{}: model= is for 'bench suite'; here all share the draft model of -md", text);
  }
  return {.name = text, .options = std::move(method.speculation)};
}

std::vector<SuiteFigures> compare_variants(Engine& engine, const std::vector<SpecVariant>& variants,
                                           const std::vector<Suite>& suites, int rounds, RoundLog& log,
                                           const ComparisonProgress& progress) {
  const auto run = [&](const Request& request, std::size_t variant, ForecastCheck& check,
                       RoundLog* rounds_to) {
    Request with = request;
    with.speculation = variants[variant].options;
    std::vector<std::string> drafters;
    CostModel& costs = EngineAccess::decoder(engine).costs();
    return EngineAccess::generate(engine, with, {}, [&](SequenceOptions& options) {
      for (const Speculator& s : options.speculators) drafters.emplace_back(s.drafter->name());
      options.on_step = [&, rounds_to](const StepTrace& trace) {
        check.observe(trace);
        check.observe_oracle(trace, costs, drafters);
        if (rounds_to != nullptr) rounds_to->write(trace);
      };
    });
  };
  ForecastCheck warm;
  int planned = 0;
  for (const Suite& suite : suites) {
    planned += static_cast<int>(suite.requests.size() * variants.size()) * rounds;
  }
  int done = 0;
  bool going = true;
  std::vector<SuiteFigures> figures;
  for (const Suite& suite : suites) {
    if (!going) break;
    if (suite.requests.empty()) continue;
    const Request warm_up = warm_up_like(suite.requests.front());
    for (std::size_t v = 0; v < variants.size(); ++v) run(warm_up, v, warm, nullptr);  // not counted
    std::vector<std::vector<Runs>> prompts;
    for (std::size_t i = 0; i < suite.requests.size() && going; ++i) {
      std::vector<Runs> runs(variants.size());
      for (int round = 0; round < rounds && going; ++round) {
        for (std::size_t turn = 0; turn < variants.size() && going; ++turn) {
          const std::size_t v = (turn + i + static_cast<std::size_t>(round)) % variants.size();
          ForecastCheck check;
          log.begin(suite.name, static_cast<int>(i), variants[v].name);
          const Result result = run(suite.requests[i], v, check, &log);
          going = result.finish_reason != "cancelled" && progress(++done, planned);
          runs[v].add(result, check);
        }
      }
      if (going || done == planned) prompts.push_back(std::move(runs));
    }
    if (!prompts.empty()) figures.push_back(summarise(suite.name, prompts, variants.size()));
  }
  return figures;
}

nlohmann::ordered_json to_json(const std::vector<SpecVariant>& variants,
                               const std::vector<SuiteFigures>& figures) {
  using nlohmann::ordered_json;
  ordered_json suites = ordered_json::array();
  for (const SuiteFigures& suite : figures) {
    ordered_json rows = ordered_json::array();
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const VariantFigures& f = suite.variants[v];
      rows.push_back({{"variant", variants[v].name},
                      {"tokens_per_second", f.tokens_per_second},
                      {"with_prompt_per_second", f.with_prompt_per_second},
                      {"mean_accepted_length", f.mean_accepted_length},
                      {"speedup", f.speedup},
                      {"speedup_with_prompt", f.speedup_with_prompt},
                      {"share_of_best", f.share_of_best},
                      {"different", f.different},
                      {"verified_tokens_per_call", f.verified_tokens},
                      {"draft_ms_per_call", f.draft_ms},
                      {"verify_ms_per_call", f.verify_ms},
                      {"other_ms_per_call", f.other_ms},
                      {"accepted_per_position", f.accepted_per_position},
                      {"forecasts", f.forecasts.to_json()}});
    }
    suites.push_back(
        {{"suite", suite.suite}, {"prompts", suite.prompts}, {"tokens", suite.tokens}, {"variants", rows}});
  }
  return suites;
}

}  // namespace augur::cli
