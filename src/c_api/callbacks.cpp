#include "c_api/callbacks.h"

#include <span>
#include <string>
#include <vector>

#include "c_api/given_result.h"
#include "c_api/own_code.h"

namespace augur::c_api {

TokenCallback event_callback(augur_event_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user, flat = FlatLogprobs()](const TokenEvent& event) mutable {
    augur_token_logprobs logprobs{};
    if (event.logprobs != nullptr) {
      flat.assign({event.logprobs, 1});
      logprobs = flat.at(0);
    }
    const std::string proposer(event.proposer);
    const augur_token_event given = {.size = sizeof(augur_token_event),
                                     .text = event.text.empty() ? "" : event.text.data(),
                                     .length = event.text.size(),
                                     .token = event.token,
                                     .depth = event.depth,
                                     .proposer = proposer.c_str(),
                                     .logprobs = event.logprobs == nullptr ? nullptr : &logprobs};
    return callback(&given, user) != 0;
  };
}

std::function<void(std::int64_t, std::int64_t)> prefill_callback(augur_prefill_callback callback,
                                                                 void* user) {
  if (callback == nullptr) return {};
  return [callback, user](std::int64_t done, std::int64_t total) { callback(done, total, user); };
}

namespace {

/// The nodes of a round, as arrays.
struct Nodes {
  std::vector<std::int32_t> tokens, parents, accepted;
  std::vector<double> probabilities;
  std::vector<std::string> names;

  explicit Nodes(const std::vector<DraftRound::Node>& nodes) {
    for (const DraftRound::Node& node : nodes) {
      tokens.push_back(node.token);
      parents.push_back(node.parent);
      accepted.push_back(node.accepted);
      probabilities.push_back(node.probability);
      names.emplace_back(node.proposer);
    }
  }
};

}  // namespace

RoundCallback round_callback(augur_round_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user](const DraftRound& round) {
    const Nodes nodes(round.nodes);
    const std::vector<const char*> proposers = pointers_to(nodes.names);
    const augur_draft_round given = {.size = sizeof(augur_draft_round),
                                     .node_count = round.nodes.size(),
                                     .tokens = nodes.tokens.data(),
                                     .parents = nodes.parents.data(),
                                     .accepted = nodes.accepted.data(),
                                     .probabilities = nodes.probabilities.data(),
                                     .proposers = proposers.data(),
                                     .next = round.next,
                                     .drafted = round.drafted,
                                     .batch_rows = round.batch_rows,
                                     .draft_ms = round.draft_ms,
                                     .verify_ms = round.verify_ms,
                                     .other_ms = round.other_ms};
    callback(&given, user);
  };
}

LogitsProcessor logits_processor(augur_logits_processor callback, void* user) {
  return [callback, user](std::span<const TokenId> tokens, std::span<float> logits) {
    require_success("", "logits_processor", [&] {
      return callback(tokens.data(), tokens.size(), logits.data(), logits.size(), user);
    });
  };
}

}  // namespace augur::c_api
