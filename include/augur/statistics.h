#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace augur {
inline namespace abi1 {

/// What speculation did for one result. Plain decoding has type "none", one token a call, and no drafts.
struct SpeculationStatistics {
  std::string type = "none";         ///< drafter types, joined by commas
  std::int64_t calls = 0;            ///< target forwards after the prompt
  std::int64_t verified_tokens = 0;  ///< rows in those forwards: the newest token and the tree's nodes
  std::int64_t drafted_tokens = 0;   ///< tokens that drafters proposed, before pruning
  std::int64_t accepted_tokens = 0;  ///< drafted tokens that became part of the result
  double mean_accepted_length = 0;   ///< tokens per call, the target's own included (1 when plain)
  std::vector<std::int64_t> accepted_per_position;  ///< [d]: rounds whose draft was accepted at depth d + 1
  double draft_ms = 0;
  double classify_ms = 0;  ///< part of draft_ms: time of trained parts of policies (bins, classifiers, heads)
  double verify_ms = 0;
  double other_ms = 0;

  /// Adds counts and times of more rounds; `type` and the mean do not change.
  void add(const SpeculationStatistics& more) {
    calls += more.calls;
    verified_tokens += more.verified_tokens;
    drafted_tokens += more.drafted_tokens;
    accepted_tokens += more.accepted_tokens;
    accepted_per_position.resize(std::max(accepted_per_position.size(), more.accepted_per_position.size()));
    for (std::size_t d = 0; d < more.accepted_per_position.size(); ++d) {
      accepted_per_position[d] += more.accepted_per_position[d];
    }
    draft_ms += more.draft_ms;
    classify_ms += more.classify_ms;
    verify_ms += more.verify_ms;
    other_ms += more.other_ms;
  }
};

}  // namespace abi1
}  // namespace augur
