#include "server/answers/speculation_json.h"

#include <nlohmann/json.hpp>

namespace augur {
namespace {

using nlohmann::ordered_json;

ordered_json drafter_json(std::string_view name) {
  return name.empty() ? ordered_json() : ordered_json(name);
}

}  // namespace

ordered_json token_json(const TokenEvent& event) {
  return {{"id", event.token}, {"drafter", drafter_json(event.proposer)}, {"depth", event.depth}};
}

ordered_json round_json(const Engine& engine, const DraftRound& round) {
  const auto text = [&](TokenId token) { return engine.detokenize({&token, 1}, true); };
  std::int64_t accepted = -1;  // the root is none
  ordered_json nodes = ordered_json::array();
  for (const DraftRound::Node& node : round.nodes) {
    accepted += node.accepted ? 1 : 0;
    nodes.push_back({{"id", node.token},
                     {"text", text(node.token)},
                     {"parent", node.parent},
                     {"drafter", drafter_json(node.proposer)},
                     {"probability", node.probability},
                     {"accepted", node.accepted}});
  }
  return {{"drafted", round.drafted},   {"verified", round.nodes.size()},
          {"accepted", accepted},       {"batch_rows", round.batch_rows},
          {"draft_ms", round.draft_ms}, {"verify_ms", round.verify_ms},
          {"other_ms", round.other_ms}, {"next", {{"id", round.next}, {"text", text(round.next)}}},
          {"nodes", std::move(nodes)}};
}

}  // namespace augur
