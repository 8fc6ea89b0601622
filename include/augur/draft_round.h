#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace augur {
inline namespace abi1 {

/// Result and times of one step of a request.
struct RoundFigures {
  std::int32_t next = -1;       ///< the model's own token after the accepted ones
  std::int64_t drafted = 0;     ///< tokens that were proposed, before pruning
  std::int64_t batch_rows = 0;  ///< rows of the verifying forward pass, of all requests and prompts
  // This request's share of the step's time. The round took draft_ms + verify_ms + other_ms, without the time
  // of prompts that were read in the same step.
  double draft_ms = 0;   ///< drafting, in equal parts among the requests that draft
  double verify_ms = 0;  ///< forward pass and check of the drafts, divided by rows, prompts left out
  double other_ms = 0;   ///< everything else, in equal parts
};

/// One step of a request: the drafted tree, which nodes were accepted, and times.
struct DraftRound : RoundFigures {
  struct Node {
    std::int32_t token = -1;
    int parent = -1;            ///< an earlier node; -1: this is the root, the newest token of the text
    std::string_view proposer;  ///< drafter that was the first to propose it; empty: the root
    double probability = 0;     ///< given its parent, by that drafter; 1 if the drafter has no probabilities
    bool accepted = false;
  };
  std::vector<Node> nodes;  ///< as verified; the root is the first, and accepted
};
/// Called after the tokens of the round. The round is valid during the call.
using RoundCallback = std::function<void(const DraftRound&)>;

}  // namespace abi1
}  // namespace augur
