#include "lab/suite/figures.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/bench/machine_probe.h"
#include "lab/suite/workbench.h"

namespace augur {
namespace {

double rate(std::int64_t tokens, double ms) {
  return 1000.0 * static_cast<double>(tokens) / std::max(ms, 1e-6);
}

/// The rounds of one prompt with one method.
struct Runs {
  std::vector<const Cell*> cells;  ///< by round, null: not run

  bool any() const {
    return std::any_of(cells.begin(), cells.end(), [](const Cell* c) { return c != nullptr; });
  }
  const Cell& first() const {
    return **std::find_if(cells.begin(), cells.end(), [](const Cell* c) { return c != nullptr; });
  }
  std::vector<double> rates(bool with_prompt) const {
    std::vector<double> out;
    for (const Cell* cell : cells) {
      if (cell != nullptr)
        out.push_back(rate(cell->tokens, cell->decode_ms + (with_prompt ? cell->prompt_ms : 0)));
    }
    return out;
  }
  /// Not the same ids as `other`, or not even the same as its own first run.
  bool differs(const Runs& other) const {
    return std::any_of(cells.begin(), cells.end(), [&](const Cell* cell) {
      return cell != nullptr && !cell->output.empty() && cell->output != other.first().output;
    });
  }
};

using PromptRuns = std::vector<Runs>;  ///< by method

std::vector<PromptRuns> collect(const PromptSet& set, const std::vector<std::string>& keys, int rounds,
                                const StateFile& state, std::vector<std::string>& ids) {
  std::vector<PromptRuns> prompts;
  for (const SuitePrompt& prompt : set.prompts) {
    const std::string key = prompt_key(set.name, prompt);
    PromptRuns runs(keys.size());
    for (std::size_t m = 0; m < keys.size(); ++m) {
      for (int round = 0; round < rounds; ++round) {
        const auto found = state.cells().find({key, keys[m], round});
        runs[m].cells.push_back(found == state.cells().end() ? nullptr : &found->second);
      }
    }
    if (!std::all_of(runs.begin(), runs.end(), [](const Runs& r) { return r.any(); })) continue;
    prompts.push_back(std::move(runs));
    ids.push_back(prompt.id);
  }
  return prompts;
}

/// Of all rounds: what a method does may differ from one to the next.
void add_runs(MethodFigures& f, const Runs& runs) {
  for (const Cell* cell : runs.cells) {
    if (cell == nullptr) continue;
    f.tokens += cell->tokens;
    add_to(f.sum, cell->speculation);
  }
}

double mean_rate_of_round(const std::vector<PromptRuns>& prompts, std::size_t method, std::size_t round) {
  double sum = 0;
  for (const PromptRuns& runs : prompts) {
    const Cell* cell = runs[method].cells[round];
    if (cell == nullptr) return 0;
    sum += rate(cell->tokens, cell->decode_ms);
  }
  return sum / static_cast<double>(prompts.size());
}

/// Of the rounds that were run.
Spread spread_of_rounds(std::vector<double> speedups) {
  std::erase(speedups, 0.0);
  return spread_of(std::move(speedups));
}

/// Adds up what suites show of each round; 0 where one of them has not run it.
void add_rounds(std::vector<double>& sum, const std::vector<double>& more, bool first) {
  if (first) sum.assign(more.size(), 0.0);
  for (std::size_t r = 0; r < sum.size(); ++r) {
    const bool everywhere = (first || sum[r] > 0) && more[r] > 0;
    sum[r] = everywhere ? sum[r] + more[r] : 0.0;
  }
}

double tau_of(const MethodFigures& f) {
  return f.sum.calls > 0 ? static_cast<double>(f.tokens) / static_cast<double>(f.sum.calls) : 0;
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
  std::vector<std::string> ids;
  const std::vector<PromptRuns> prompts = collect(set, keys, rounds, state, ids);
  SuiteFigures figures{.suite = set.name,
                       .prompts = static_cast<int>(prompts.size()),
                       .planned = static_cast<int>(set.prompts.size()),
                       .methods = std::vector<MethodFigures>(keys.size())};
  if (prompts.empty()) return figures;
  const auto count = static_cast<double>(prompts.size());
  for (std::size_t m = 0; m < keys.size(); ++m) {
    MethodFigures& f = figures.methods[m];
    std::vector<double> speedups;
    for (const PromptRuns& runs : prompts) {
      const double own = median(runs[m].rates(false));
      f.tokens_per_second += own / count;
      f.with_prompt_per_second += median(runs[m].rates(true)) / count;
      f.different += runs[m].differs(runs[0]) ? 1 : 0;
      speedups.push_back(own / median(runs[0].rates(false)));
      add_runs(f, runs[m]);
    }
    const MethodFigures& plain = figures.methods[0];
    f.speedup = f.tokens_per_second / plain.tokens_per_second;
    f.speedup_with_prompt = f.with_prompt_per_second / plain.with_prompt_per_second;
    f.tau = tau_of(f);
    f.slowest_id =
        ids[static_cast<std::size_t>(std::min_element(speedups.begin(), speedups.end()) - speedups.begin())];
    f.by_prompt = spread_of(std::move(speedups));
    for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r) {
      const double base = mean_rate_of_round(prompts, 0, r);
      const double own = mean_rate_of_round(prompts, m, r);
      f.round_speedups.push_back(base > 0 ? own / base : 0.0);
    }
    f.by_round = spread_of_rounds(f.round_speedups);
  }
  return figures;
}

std::vector<PromptSet> by_category(const PromptSet& set) {
  std::vector<PromptSet> sets;
  std::map<std::string, std::size_t> place;
  for (const SuitePrompt& prompt : set.prompts) {
    const auto [at, fresh] = place.emplace(prompt.category, sets.size());
    if (fresh) sets.push_back({prompt.category.empty() ? "(none)" : prompt.category, {}});
    sets[at->second].prompts.push_back(prompt);
  }
  if (sets.size() < 2) sets.clear();
  return sets;
}

std::vector<MethodFigures> overall_figures(const std::vector<SuiteFigures>& suites) {
  std::vector<MethodFigures> all;
  double counted = 0;
  for (const SuiteFigures& suite : suites) {
    if (suite.prompts == 0) continue;
    const bool first = counted == 0;
    counted += 1;
    all.resize(suite.methods.size());
    for (std::size_t m = 0; m < all.size(); ++m) {
      const MethodFigures& f = suite.methods[m];
      MethodFigures& sum = all[m];
      sum.tokens_per_second += f.tokens_per_second;
      sum.with_prompt_per_second += f.with_prompt_per_second;
      sum.speedup += f.speedup;
      sum.speedup_with_prompt += f.speedup_with_prompt;
      sum.different += f.different;
      sum.tokens += f.tokens;
      add_to(sum.sum, f.sum);
      add_rounds(sum.round_speedups, f.round_speedups, first);
      if (first || f.by_prompt.low < sum.by_prompt.low) {
        sum.by_prompt.low = f.by_prompt.low;
        sum.slowest_id = suite.suite + " " + f.slowest_id;
      }
      sum.by_prompt.high = first ? f.by_prompt.high : std::max(sum.by_prompt.high, f.by_prompt.high);
      sum.by_prompt.middle += f.by_prompt.middle;
    }
  }
  for (MethodFigures& f : all) {
    for (double* mean : {&f.tokens_per_second, &f.with_prompt_per_second, &f.speedup, &f.speedup_with_prompt,
                         &f.by_prompt.middle}) {
      *mean /= counted;
    }
    for (double& speedup : f.round_speedups) speedup /= counted;
    f.by_round = spread_of_rounds(f.round_speedups);
    f.tau = tau_of(f);
  }
  return all;
}

nlohmann::ordered_json to_json(const MethodFigures& f) {
  const auto spread = [](const Spread& s) { return nlohmann::ordered_json{s.low, s.middle, s.high}; };
  return {
      {"tokens_per_second", f.tokens_per_second},
      {"with_prompt_per_second", f.with_prompt_per_second},
      {"speedup", f.speedup},
      {"speedup_with_prompt", f.speedup_with_prompt},
      {"round_speedups", f.round_speedups},
      {"speedup_by_round", spread(f.by_round)},
      {"speedup_by_prompt", spread(f.by_prompt)},
      {"slowest_prompt", f.slowest_id},
      {"different", f.different},
      {"tokens", f.tokens},
      {"tau", f.tau},
      {"accept_length",
       f.sum.calls > 0 ? static_cast<double>(f.sum.accepted_tokens) / static_cast<double>(f.sum.calls) : 0.0},
      {"calls", f.sum.calls},
      {"verified_tokens", f.sum.verified_tokens},
      {"drafted_tokens", f.sum.drafted_tokens},
      {"accepted_tokens", f.sum.accepted_tokens},
      {"accepted_per_position", f.sum.accepted_per_position},
      {"draft_ms", f.sum.draft_ms},
      {"verify_ms", f.sum.verify_ms},
      {"other_ms", f.sum.other_ms}};
}

}  // namespace augur
