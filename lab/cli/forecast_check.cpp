#include "lab/cli/forecast_check.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace augur::cli {
namespace {

/// The children of every accepted node have outcomes; the scores say what was thought of them.
void observe_nodes(const StepTrace& trace, std::array<ForecastCheck::Bin, ForecastCheck::kBins>& bins) {
  const DraftTree& tree = *trace.tree;
  for (std::size_t i = 0; i < trace.path.size(); ++i) {
    const std::int32_t node = trace.path[i];
    const std::int32_t next = i + 1 < trace.path.size() ? trace.path[i + 1] : -1;
    for (std::int32_t c = tree.first_child(node); c >= 0; c = tree.next_sibling(c)) {
      const float step =
          tree.scores()[static_cast<std::size_t>(c)] - tree.scores()[static_cast<std::size_t>(node)];
      const double chance = std::clamp(std::exp(static_cast<double>(step)), 0.0, 1.0);
      const auto bin = std::min(static_cast<std::size_t>(chance * ForecastCheck::kBins), bins.size() - 1);
      ++bins[bin].nodes;
      bins[bin].accepted += c == next ? 1 : 0;
      bins[bin].predicted += chance;
    }
  }
}

}  // namespace

void ForecastCheck::observe(const StepTrace& trace) {
  observe_nodes(trace, bins);
  switch (trace.forecast.mode) {
    case RoundMode::Fixed:
      return;
    case RoundMode::Plain:
      ++plain;
      break;
    case RoundMode::Speculate:
      ++speculated;
      break;
    case RoundMode::Probe:
      ++probed;
      break;
  }
  forecast_tokens += trace.forecast.tokens;
  tokens += static_cast<double>(trace.path.size());
  forecast_ms += trace.forecast.ms;
  ms += trace.draft_ms + trace.verify_ms + trace.other_ms;
}

void ForecastCheck::observe_oracle(const StepTrace& trace, CostModel& costs,
                                   std::span<const std::string> drafters) {
  if (!costs.measured()) return;
  const auto tokens_here = static_cast<double>(trace.path.size());
  oracle_tokens += tokens_here;
  oracle_ms += costs.verify_ms(tokens_here, static_cast<double>(trace.context)) + costs.other_ms();
  for (const std::int32_t node : trace.path.subspan(1)) {
    const std::size_t proposer = trace.tree->proposers()[static_cast<std::size_t>(node)];
    if (proposer == kTargetProposer || proposer > drafters.size()) continue;
    const DraftCosts& drafter = costs.drafter(drafters[proposer - 1]);
    if (!drafter.measured()) continue;
    const int level = trace.tree->depths()[static_cast<std::size_t>(node)] - 1;
    if (level == 0 || drafter.levels().observed()) oracle_ms += drafter.level_ms(level, 1);
  }
}

void ForecastCheck::add(const ForecastCheck& more) {
  plain += more.plain;
  speculated += more.speculated;
  probed += more.probed;
  forecast_tokens += more.forecast_tokens;
  tokens += more.tokens;
  forecast_ms += more.forecast_ms;
  ms += more.ms;
  oracle_tokens += more.oracle_tokens;
  oracle_ms += more.oracle_ms;
  for (std::size_t i = 0; i < kBins; ++i) {
    bins[i].nodes += more.bins[i].nodes;
    bins[i].accepted += more.bins[i].accepted;
    bins[i].predicted += more.bins[i].predicted;
  }
}

double ForecastCheck::rate_ratio() const {
  if (steered() == 0 || forecast_ms <= 0 || tokens <= 0) return 0;
  return (forecast_tokens / forecast_ms) / (tokens / ms);
}

nlohmann::ordered_json ForecastCheck::to_json() const {
  using nlohmann::ordered_json;
  ordered_json calibration = ordered_json::array();
  for (const Bin& bin : bins) {
    if (bin.nodes == 0) continue;
    const auto nodes = static_cast<double>(bin.nodes);
    calibration.push_back({{"predicted", bin.predicted / nodes},
                           {"observed", static_cast<double>(bin.accepted) / nodes},
                           {"nodes", bin.nodes}});
  }
  return {{"plain", plain},
          {"speculated", speculated},
          {"probed", probed},
          {"forecast_tokens", forecast_tokens},
          {"tokens", tokens},
          {"forecast_ms", forecast_ms},
          {"ms", ms},
          {"oracle_per_second", oracle_per_second()},
          {"calibration", calibration}};
}

}  // namespace augur::cli
