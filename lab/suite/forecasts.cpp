#include "lab/suite/forecasts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/bench/cost_curve.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// The children of every accepted node have outcomes; the scores say what was thought of them.
void observe_nodes(const StepTrace& round, std::array<Forecasts::Bin, Forecasts::kBins>& bins) {
  const DraftTree& tree = *round.tree;
  for (std::size_t i = 0; i < round.path.size(); ++i) {
    const std::int32_t node = round.path[i];
    const std::int32_t next = i + 1 < round.path.size() ? round.path[i + 1] : -1;
    for (std::int32_t c = tree.first_child(node); c >= 0; c = tree.next_sibling(c)) {
      const float step =
          tree.scores()[static_cast<std::size_t>(c)] - tree.scores()[static_cast<std::size_t>(node)];
      const double chance = std::clamp(std::exp(static_cast<double>(step)), 0.0, 1.0);
      Forecasts::Bin& bin =
          bins[std::min(static_cast<std::size_t>(chance * Forecasts::kBins), bins.size() - 1)];
      ++bin.nodes;
      bin.accepted += c == next ? 1 : 0;
      bin.predicted += chance;
    }
  }
}

/// What the accepted nodes take to draft and to verify.
double oracle_ms(const StepTrace& round, const MeasuredCosts& costs, std::span<const std::string> drafters) {
  const double longer = static_cast<double>(round.context) - costs.context;
  double ms = ms_at(costs.verify, static_cast<double>(round.path.size())) * (1 + costs.growth_one * longer) +
              costs.other_ms;
  for (const std::int32_t node : round.path.subspan(1)) {
    const std::size_t proposer = round.tree->proposers()[static_cast<std::size_t>(node)];
    if (proposer == kTargetProposer || proposer > drafters.size()) continue;
    const auto drafter =
        std::find_if(costs.drafters.begin(), costs.drafters.end(),
                     [&](const MeasuredCosts::Draft& d) { return d.name == drafters[proposer - 1]; });
    if (drafter == costs.drafters.end()) continue;
    const bool first = round.tree->depths()[static_cast<std::size_t>(node)] == 1;
    const MeasuredCosts::Curve& level = first ? drafter->first_level : drafter->level;
    if (!level.rows.empty()) ms += ms_at(level, 1);
  }
  return ms;
}

}  // namespace

const char* name(RoundMode mode) {
  constexpr const char* kNames[] = {"fixed", "plain", "speculate", "probe"};
  return kNames[static_cast<std::size_t>(mode)];
}

void Forecasts::observe(const StepTrace& round, const MeasuredCosts& costs,
                        std::span<const std::string> drafters) {
  observe_nodes(round, bins);
  const auto came = static_cast<double>(round.path.size());
  if (!costs.verify.rows.empty()) {
    oracle_tokens += came;
    oracle_ms += augur::oracle_ms(round, costs, drafters);
  }
  ++decided[static_cast<std::size_t>(round.forecast.mode)];
  if (round.forecast.mode == RoundMode::Fixed) return;
  forecast_tokens += round.forecast.tokens;
  tokens += came;
  forecast_ms += round.forecast.ms;
  ms += round.draft_ms + round.verify_ms + round.other_ms;
}

void Forecasts::add(const Forecasts& more) {
  for (std::size_t mode = 0; mode < decided.size(); ++mode) decided[mode] += more.decided[mode];
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

ordered_json to_json(const Forecasts& f) {
  ordered_json bins = ordered_json::array();
  for (const Forecasts::Bin& bin : f.bins) bins.push_back({bin.nodes, bin.accepted, bin.predicted});
  return {f.decided, f.forecast_tokens, f.tokens, f.forecast_ms, f.ms, f.oracle_tokens, f.oracle_ms, bins};
}

Forecasts forecasts_of(const nlohmann::json& object) {
  Forecasts f;
  f.decided = object.at(0);
  f.forecast_tokens = object.at(1);
  f.tokens = object.at(2);
  f.forecast_ms = object.at(3);
  f.ms = object.at(4);
  f.oracle_tokens = object.at(5);
  f.oracle_ms = object.at(6);
  for (std::size_t i = 0; i < Forecasts::kBins; ++i) {
    const nlohmann::json& bin = object.at(7).at(i);
    f.bins[i] = {bin.at(0), bin.at(1), bin.at(2)};
  }
  return f;
}

ordered_json summary(const Forecasts& f) {
  ordered_json calibration = ordered_json::array();
  for (const Forecasts::Bin& bin : f.bins) {
    if (bin.nodes == 0) continue;
    const auto nodes = static_cast<double>(bin.nodes);
    calibration.push_back({{"predicted", bin.predicted / nodes},
                           {"observed", static_cast<double>(bin.accepted) / nodes},
                           {"nodes", bin.nodes}});
  }
  return {{"plain", f.of(RoundMode::Plain)},
          {"speculated", f.of(RoundMode::Speculate)},
          {"probed", f.of(RoundMode::Probe)},
          {"forecast_tokens", f.forecast_tokens},
          {"tokens", f.tokens},
          {"forecast_ms", f.forecast_ms},
          {"ms", f.ms},
          {"oracle_per_second", f.oracle_per_second()},
          {"calibration", calibration}};
}

}  // namespace augur
