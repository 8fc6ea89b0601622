#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace augur {

/// What one step of a request came to, and took.
struct RoundFigures {
  std::int32_t next = -1;       ///< the model's own token behind the accepted ones
  std::int64_t drafted = 0;     ///< tokens that were proposed, before pruning
  std::int64_t batch_rows = 0;  ///< of the forward that verified them: all requests' and prompts'
  // This request's share of what the step took. The round took draft_ms + verify_ms + other_ms: prompts that
  // were read in the same step are no part of it.
  double draft_ms = 0;   ///< drafting, in equal parts among the requests that draft
  double verify_ms = 0;  ///< the forward and the check of the drafts, by rows, as if without the prompts'
  double other_ms = 0;   ///< all else, in equal parts
};

/// One step of a request's speculation: what was drafted, what the model made of it, and what it took.
struct DraftRound : RoundFigures {
  struct Node {
    std::int32_t token = -1;
    int parent = -1;            ///< an earlier node; -1: this is the root, the newest token of the text
    std::string_view proposer;  ///< drafter that was the first to propose it; empty: the root
    double probability = 0;     ///< given its parent, by that drafter; 1 where it has none to tell
    bool accepted = false;
  };
  std::vector<Node> nodes;  ///< as verified; the root is the first, and accepted
};
/// The round is valid during the call. Comes after the tokens of the round.
using RoundCallback = std::function<void(const DraftRound&)>;

}  // namespace augur
