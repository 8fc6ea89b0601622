#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/suite/analysis.h"
#include "lab/suite/forecasts.h"
#include "lab/suite/round_watch.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kCutNodesShown = 48;  // of a round: enough for any picture

double rounded(double value, double digits = 1000) {
  return std::round(value * digits) / digits;
}

/// A token on its own may be a part of a character: what is not UTF-8 becomes U+FFFD.
std::string readable(const std::string& text) {
  return ordered_json::parse(ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

/// The verified nodes, and the likeliest of those that were cut, with their ancestors.
std::vector<bool> nodes_to_show(const WatchedRound& round) {
  std::vector<double> score(round.nodes.size());
  std::vector<std::size_t> cut;
  std::vector<bool> shown(round.nodes.size());
  for (std::size_t n = 0; n < round.nodes.size(); ++n) {
    const WatchedNode& node = round.nodes[n];
    if (node.parent >= 0) score[n] = score[static_cast<std::size_t>(node.parent)] + double{node.log_prob};
    shown[n] = node.verified;
    if (!node.verified) cut.push_back(n);
  }
  std::stable_sort(cut.begin(), cut.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
  cut.resize(std::min(cut.size(), kCutNodesShown));
  for (std::size_t n : cut) {
    for (; !shown[n]; n = static_cast<std::size_t>(round.nodes[n].parent)) shown[n] = true;
  }
  return shown;
}

ordered_json tree_of(const WatchedRound& round, const Engine& engine) {
  const std::vector<bool> shown = nodes_to_show(round);
  std::vector<int> place(round.nodes.size(), -1);
  ordered_json nodes = ordered_json::array();
  for (std::size_t n = 0; n < round.nodes.size(); ++n) {
    if (!shown[n]) continue;
    const WatchedNode& node = round.nodes[n];
    place[n] = static_cast<int>(nodes.size());
    const TokenId token[] = {node.token};
    nodes.push_back({readable(engine.detokenize(token, true)),
                     node.parent < 0 ? -1 : place[static_cast<std::size_t>(node.parent)],
                     rounded(std::exp(double{node.log_prob})), node.proposer,
                     node.accepted   ? 2
                     : node.verified ? 1
                                     : 0});
  }
  return nodes;
}

}  // namespace

ordered_json watch_text(Workbench& bench, const Method& method, const SuitePrompt& prompt,
                        const SuiteRequest& how, const std::atomic<bool>* cancel) {
  SuiteRequest first_turn = how;
  first_turn.turns = 1;
  RoundWatch watch;
  ordered_json tokens = ordered_json::array();
  Result result;
  std::vector<std::string> names;
  const auto proposer = [&](std::string_view name_of) {
    if (name_of.empty()) return 0;
    const auto at = std::find(names.begin(), names.end(), name_of);
    if (at == names.end()) names.emplace_back(name_of);
    return static_cast<int>(std::find(names.begin(), names.end(), name_of) - names.begin()) + 1;
  };
  bench.forget(method);
  bench.run(
      method, prompt, first_turn, cancel, [&](const Result& r) { result = r; },
      [&](const TokenEvent& event) {
        if (event.token >= 0) {
          tokens.push_back({std::string(event.text), proposer(event.proposer), event.depth});
        } else if (!tokens.empty()) {
          tokens.back()[0] = tokens.back()[0].get<std::string>() + std::string(event.text);
        }
        return true;
      },
      [&](SequenceOptions& options) {
        watch.attach(options);
        names = watch.proposers();
      });
  if (result.finish_reason == FinishReason::Cancelled || result.finish_reason == FinishReason::None)
    return {};
  ordered_json rounds = ordered_json::array();
  for (const WatchedRound& round : watch.rounds()) {
    const TokenId next[] = {round.next};
    rounds.push_back({{"nodes", tree_of(round, bench.base())},
                      {"next", readable(bench.base().detokenize(next, true))},
                      {"verified", round.verified},
                      {"accepted", round.accepted},
                      {"proposed", static_cast<std::int64_t>(round.nodes.size()) - 1},
                      {"draft_ms", rounded(round.draft_ms)},
                      {"verify_ms", rounded(round.verify_ms)},
                      {"other_ms", rounded(round.other_ms)},
                      {"mode", name(round.forecast.mode)},
                      {"forecast_tokens", rounded(round.forecast.tokens)},
                      {"forecast_ms", rounded(round.forecast.ms)},
                      {"price", rounded(round.forecast.price, 1e5)},
                      {"choice", round.choice}});
  }
  return {{"proposers", names}, {"tokens", tokens}, {"rounds", rounds}};
}

}  // namespace augur
