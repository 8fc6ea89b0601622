#include "lab/suite/figures.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "lab/bench/machine_probe.h"
#include "lab/suite/workbench.h"

namespace augur {
namespace {

double rate(const Cell& cell, bool with_prompt = false) {
  const double ms = cell.decode_ms + (with_prompt ? cell.prompt_ms : 0);
  return 1000.0 * static_cast<double>(cell.tokens) / std::max(ms, 1e-6);
}

using Runs = std::map<int, const Cell*>;  ///< of one prompt with one method, by round

double median_rate(const Runs& runs, bool with_prompt) {
  std::vector<double> rates;
  for (const auto& [round, cell] : runs) rates.push_back(rate(*cell, with_prompt));
  return median(std::move(rates));
}

/// A prompt that all methods have run.
struct Measured {
  std::string id;
  std::vector<Runs> methods;
};

std::optional<Measured> find(const std::string& suite, const SuitePrompt& prompt,
                             const std::vector<std::string>& keys, int rounds, const StateFile& state) {
  Measured found{prompt.id, std::vector<Runs>(keys.size())};
  const std::string key = prompt_key(suite, prompt);
  for (std::size_t m = 0; m < keys.size(); ++m) {
    for (int round = 0; round < rounds; ++round) {
      const auto cell = state.cells().find({key, keys[m], round});
      if (cell != state.cells().end()) found.methods[m].emplace(round, &cell->second);
    }
    if (found.methods[m].empty()) return std::nullopt;
  }
  return found;
}

/// Means over the prompts of what single ones say of the method; sums over all that was run.
MethodFigures figures_of(const std::vector<Measured>& prompts, std::size_t method) {
  MethodFigures f;
  const auto share = 1.0 / static_cast<double>(prompts.size());
  std::vector<double> speedups;
  for (const Measured& prompt : prompts) {
    const Runs& runs = prompt.methods[method];
    const Cell& reference = *prompt.methods[0].begin()->second;
    const double own = median_rate(runs, false);
    double best = 0;
    for (const Runs& other : prompt.methods) best = std::max(best, median_rate(other, false));
    f.tokens_per_second += share * own;
    f.with_prompt_per_second += share * median_rate(runs, true);
    f.share_of_best += share * own / best;
    speedups.push_back(own / median_rate(prompt.methods[0], false));
    bool differs = false;
    for (const auto& [round, cell] : runs) {
      // What another engine generated is not known; a method may not even repeat its own first run.
      differs = differs || (!cell->output.empty() && cell->output != reference.output);
      f.tokens += cell->tokens;
      add_to(f.sum, cell->speculation);
      f.forecasts.add(cell->forecasts);
    }
    f.different += differs ? 1 : 0;
  }
  f.slowest_id =
      prompts[static_cast<std::size_t>(std::min_element(speedups.begin(), speedups.end()) - speedups.begin())]
          .id;
  f.by_prompt = spread_of(std::move(speedups));
  return f;
}

/// The mean over the prompts in one round; 0 where one of them has not been run.
double rate_of_round(const std::vector<Measured>& prompts, std::size_t method, int round) {
  double sum = 0;
  for (const Measured& prompt : prompts) {
    const auto cell = prompt.methods[method].find(round);
    if (cell == prompt.methods[method].end()) return 0;
    sum += rate(*cell->second);
  }
  return sum / static_cast<double>(prompts.size());
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
  add_to(sum.sum, f.sum);
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
                           const StateFile& state) {
  std::vector<Measured> prompts;
  for (const SuitePrompt& prompt : set.prompts) {
    if (auto found = find(set.name, prompt, keys, rounds, state)) prompts.push_back(std::move(*found));
  }
  SuiteFigures figures{set.name, static_cast<int>(prompts.size()), static_cast<int>(set.prompts.size()), {}};
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
  return all;
}

nlohmann::ordered_json to_json(const MethodFigures& f) {
  const auto spread = [](const Spread& s) { return nlohmann::ordered_json{s.low, s.middle, s.high}; };
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
          {"verify_ms", f.sum.verify_ms},
          {"other_ms", f.sum.other_ms},
          {"forecasts", summary(f.forecasts)}};
}

}  // namespace augur
