#pragma once
#include <cstdint>
#include <vector>

namespace augur {

/// What the rounds of one sequence added up to. Times are the sequence's share of steps that it ran together
/// with others: drafting in equal parts, verification by rows.
struct DecodeStatistics {
  std::int64_t cached_tokens = 0;  ///< of the prompt, that were not run as a PrefixCache knew them
  std::int64_t calls = 0;          ///< target forwards after the prompt
  std::int64_t generated_tokens = 0;
  std::int64_t verified_tokens = 0;                 ///< rows in those forwards: roots and tree nodes
  std::int64_t drafted_tokens = 0;                  ///< nodes proposed, before pruning
  std::int64_t accepted_tokens = 0;                 ///< drafted tokens that became text
  std::vector<std::int64_t> accepted_per_position;  ///< [d]: rounds that accepted a draft at depth d + 1
  double prompt_ms = 0;                             ///< wall time of the prompt
  double decode_ms = 0;                             ///< wall time from there to the end
  double draft_ms = 0;
  double classify_ms = 0;  ///< of draft_ms: policies' trained parts
  double verify_ms = 0;
  double other_ms = 0;

  /// Tokens per call, the target's own included: 1 for plain decoding.
  double mean_accepted_length() const {
    return calls > 0 ? static_cast<double>(generated_tokens) / static_cast<double>(calls) : 0.0;
  }
};

}  // namespace augur
