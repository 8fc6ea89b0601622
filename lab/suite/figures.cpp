#include "lab/suite/figures.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "lab/bench/machine_probe.h"
#include "lab/suite/keys.h"

namespace augur {
namespace {

double rate(const Cell& cell, bool with_prompt = false) {
  const double ms = cell.decode_ms + (with_prompt ? cell.prompt_ms : 0);
  return 1000.0 * static_cast<double>(cell.tokens) / std::max(ms, 1e-6);
}

using Runs = std::map<int, const Cell*>;  ///< of one text with one method, by round

double median_rate(const Runs& runs, bool with_prompt = false) {
  std::vector<double> rates;
  for (const auto& [round, cell] : runs) rates.push_back(rate(*cell, with_prompt));
  return median(std::move(rates));
}

/// What all methods have written to a prompt with one seed.
using Text = std::vector<Runs>;

/// A prompt of which all methods have run some text.
struct Measured {
  std::string id;
  std::vector<Text> texts;

  /// Mean over the texts.
  double rate(std::size_t method, bool with_prompt = false) const {
    double sum = 0;
    for (const Text& text : texts) sum += median_rate(text[method], with_prompt);
    return sum / static_cast<double>(texts.size());
  }
};

std::optional<Measured> find(const std::string& suite, const SuitePrompt& prompt,
                             const std::vector<std::string>& keys, int rounds, int seeds,
                             const StateFile& state) {
  Measured found{prompt.id, {}};
  const std::string key = prompt_key(suite, prompt);
  for (int seed = 0; seed < seeds; ++seed) {
    Text text(keys.size());
    for (std::size_t m = 0; m < keys.size(); ++m) {
      for (int round = 0; round < rounds; ++round) {
        const auto cell = state.cells().find({key, keys[m], round, seed});
        if (cell != state.cells().end()) text[m].emplace(round, &cell->second);
      }
    }
    if (std::none_of(text.begin(), text.end(), [](const Runs& runs) { return runs.empty(); })) {
      found.texts.push_back(std::move(text));
    }
  }
  if (found.texts.empty()) return std::nullopt;
  return found;
}

/// Adds what was run, and tells whether some of it is not what the first method wrote.
bool add_runs(const Text& text, std::size_t method, MethodFigures& f) {
  const Cell& reference = *text.front().begin()->second;
  bool differs = false;
  for (const auto& [round, cell] : text[method]) {
    // What another engine generated is not known; a method may not even repeat its own first run.
    differs = differs || (!cell->output.empty() && cell->output != reference.output);
    f.tokens += cell->tokens;
    f.sum.add(cell->speculation);
    f.forecasts.add(cell->forecasts);
  }
  return differs;
}

/// Means over the prompts of what single ones say of the method; sums over all that was run.
MethodFigures figures_of(const std::vector<Measured>& prompts, std::size_t method) {
  MethodFigures f;
  const auto share = 1.0 / static_cast<double>(prompts.size());
  std::vector<double> speedups;
  for (const Measured& prompt : prompts) {
    const double own = prompt.rate(method);
    double best = 0;
    for (std::size_t m = 0; m < prompt.texts.front().size(); ++m) best = std::max(best, prompt.rate(m));
    f.tokens_per_second += share * own;
    f.with_prompt_per_second += share * prompt.rate(method, true);
    f.share_of_best += share * own / best;
    speedups.push_back(own / prompt.rate(0));
    bool differs = false;
    for (const Text& text : prompt.texts) differs = add_runs(text, method, f) || differs;
    f.different += differs ? 1 : 0;
  }
  f.slowest_id =
      prompts[static_cast<std::size_t>(std::min_element(speedups.begin(), speedups.end()) - speedups.begin())]
          .id;
  f.by_prompt = spread_of(std::move(speedups));
  return f;
}

/// The mean over the prompts in one round; 0 where one of their texts has not been run.
double rate_of_round(const std::vector<Measured>& prompts, std::size_t method, int round) {
  double sum = 0;
  for (const Measured& prompt : prompts) {
    for (const Text& text : prompt.texts) {
      const auto cell = text[method].find(round);
      if (cell == text[method].end()) return 0;
      sum += rate(*cell->second) / static_cast<double>(prompt.texts.size());
    }
  }
  return sum / static_cast<double>(prompts.size());
}

Resamples resamples_of(const std::vector<Measured>& prompts, std::size_t methods) {
  std::vector<PromptSample> samples;
  for (const Measured& prompt : prompts) {
    PromptSample& sample = samples.emplace_back();
    for (const Text& text : prompt.texts) {
      TextSample& one = sample.emplace_back();
      for (const Runs& runs : text) {
        one.rates.push_back(median_rate(runs));
        double tokens = 0;
        double calls = 0;
        for (const auto& [round, cell] : runs) {
          tokens += static_cast<double>(cell->tokens);
          calls += static_cast<double>(cell->speculation.calls);
        }
        one.tokens.push_back(tokens);
        one.calls.push_back(calls);
      }
    }
  }
  return resample(samples, methods);
}

/// Of all suites together: speedups are means of the suites', counts are sums. Suites are resampled apart.
Resamples joined(const std::vector<SuiteFigures>& suites) {
  Resamples all;
  double counted = 0;
  for (const SuiteFigures& suite : suites) {
    const Resamples& own = suite.resamples;
    if (suite.prompts == 0) continue;
    if (own.empty()) return {};  // of one text
    counted += 1;
    if (all.empty()) {
      all = own;
      continue;
    }
    for (std::size_t r = 0; r < own.speedups.size(); ++r) {
      for (std::size_t m = 0; m < own.speedups[r].size(); ++m) {
        all.speedups[r][m] += own.speedups[r][m];
        all.tokens[r][m] += own.tokens[r][m];
        all.calls[r][m] += own.calls[r][m];
      }
    }
  }
  for (std::vector<double>& resample : all.speedups) {
    for (double& speedup : resample) speedup /= counted;
  }
  return all;
}

void add_intervals(const Resamples& resamples, std::vector<MethodFigures>& methods) {
  for (std::size_t m = 0; m < methods.size(); ++m) {
    std::vector<double> speedups;
    std::vector<double> taus;
    for (std::size_t r = 0; r < resamples.speedups.size(); ++r) {
      speedups.push_back(resamples.speedups[r][m]);
      // Another engine may not tell its calls.
      if (resamples.calls[r][m] > 0) taus.push_back(resamples.tokens[r][m] / resamples.calls[r][m]);
    }
    methods[m].speedup_interval = interval_of(std::move(speedups));
    methods[m].tau_interval = interval_of(std::move(taus));
  }
}

/// Of the rounds that were run.
Spread spread_of_rounds(std::vector<double> speedups) {
  std::erase(speedups, 0.0);
  return spread_of(std::move(speedups));
}

/// Of one method over several suites, the first of which is `first`.
void add_suite(MethodFigures& sum, const MethodFigures& f, const std::string& suite, bool first) {
  sum.tokens_per_second += f.tokens_per_second;
  sum.with_prompt_per_second += f.with_prompt_per_second;
  sum.speedup += f.speedup;
  sum.speedup_with_prompt += f.speedup_with_prompt;
  sum.share_of_best += f.share_of_best;
  sum.different += f.different;
  sum.tokens += f.tokens;
  sum.sum.add(f.sum);
  sum.forecasts.add(f.forecasts);
  if (first) sum.round_speedups.assign(f.round_speedups.size(), 0.0);
  for (std::size_t r = 0; r < sum.round_speedups.size(); ++r) {
    double& round = sum.round_speedups[r];  // 0: some suite has not run it
    round = (first || round > 0) && f.round_speedups[r] > 0 ? round + f.round_speedups[r] : 0.0;
  }
  if (first || f.by_prompt.low < sum.by_prompt.low) {
    sum.by_prompt.low = f.by_prompt.low;
    sum.slowest_id = suite + " " + f.slowest_id;
  }
  sum.by_prompt.high = first ? f.by_prompt.high : std::max(sum.by_prompt.high, f.by_prompt.high);
  sum.by_prompt.middle += f.by_prompt.middle;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  Spread spread{*low, 0, *high};
  spread.middle = median(std::move(values));
  return spread;
}

SuiteFigures suite_figures(const PromptSet& set, const std::vector<std::string>& keys, int rounds,
                           const StateFile& state, int seeds) {
  std::vector<Measured> prompts;
  for (const SuitePrompt& prompt : set.prompts) {
    if (auto found = find(set.name, prompt, keys, rounds, seeds, state)) prompts.push_back(std::move(*found));
  }
  SuiteFigures figures{
      set.name, static_cast<int>(prompts.size()), static_cast<int>(set.prompts.size()), {}, {}};
  if (prompts.empty()) return figures;
  for (std::size_t m = 0; m < keys.size(); ++m) {
    MethodFigures& f = figures.methods.emplace_back(figures_of(prompts, m));
    const MethodFigures& plain = figures.methods[0];
    f.speedup = f.tokens_per_second / plain.tokens_per_second;
    f.speedup_with_prompt = f.with_prompt_per_second / plain.with_prompt_per_second;
    for (int round = 0; round < rounds; ++round) {
      const double base = rate_of_round(prompts, 0, round);
      f.round_speedups.push_back(base > 0 ? rate_of_round(prompts, m, round) / base : 0.0);
    }
    f.by_round = spread_of_rounds(f.round_speedups);
  }
  figures.resamples = resamples_of(prompts, keys.size());
  add_intervals(figures.resamples, figures.methods);
  return figures;
}

std::vector<MethodFigures> overall_figures(const std::vector<SuiteFigures>& suites) {
  std::vector<MethodFigures> all;
  double counted = 0;
  for (const SuiteFigures& suite : suites) {
    if (suite.prompts == 0) continue;
    all.resize(suite.methods.size());
    for (std::size_t m = 0; m < all.size(); ++m) {
      add_suite(all[m], suite.methods[m], suite.suite, counted == 0);
    }
    counted += 1;
  }
  for (MethodFigures& f : all) {
    for (double* mean : {&f.tokens_per_second, &f.with_prompt_per_second, &f.speedup, &f.speedup_with_prompt,
                         &f.share_of_best, &f.by_prompt.middle}) {
      *mean /= counted;
    }
    for (double& speedup : f.round_speedups) speedup /= counted;
    f.by_round = spread_of_rounds(f.round_speedups);
  }
  add_intervals(joined(suites), all);
  return all;
}

nlohmann::ordered_json to_json(const MethodFigures& f) {
  const auto spread = [](const Spread& s) { return nlohmann::ordered_json{s.low, s.middle, s.high}; };
  const auto interval = [](const std::optional<Interval>& i) {
    return i ? nlohmann::ordered_json{i->low, i->high} : nlohmann::ordered_json();
  };
  const auto calls = static_cast<double>(std::max<std::int64_t>(f.sum.calls, 1));
  return {{"tokens_per_second", f.tokens_per_second},
          {"with_prompt_per_second", f.with_prompt_per_second},
          {"speedup", f.speedup},
          {"speedup_with_prompt", f.speedup_with_prompt},
          {"share_of_best", f.share_of_best},
          {"round_speedups", f.round_speedups},
          {"speedup_by_round", spread(f.by_round)},
          {"speedup_by_prompt", spread(f.by_prompt)},
          {"slowest_prompt", f.slowest_id},
          {"speedup_interval", interval(f.speedup_interval)},
          {"tau_interval", interval(f.tau_interval)},
          {"different", f.different},
          {"tokens", f.tokens},
          {"tau", f.tau()},
          {"accept_length", static_cast<double>(f.sum.accepted_tokens) / calls},
          {"calls", f.sum.calls},
          {"verified_tokens", f.sum.verified_tokens},
          {"drafted_tokens", f.sum.drafted_tokens},
          {"accepted_tokens", f.sum.accepted_tokens},
          {"accepted_per_position", f.sum.accepted_per_position},
          {"draft_ms", f.sum.draft_ms},
          {"classify_ms", f.sum.classify_ms},
          {"verify_ms", f.sum.verify_ms},
          {"other_ms", f.sum.other_ms},
          {"forecasts", summary(f.forecasts)}};
}

}  // namespace augur
