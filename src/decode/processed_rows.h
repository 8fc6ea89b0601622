#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "augur/logits_processor.h"
#include "base/types.h"

namespace augur {

/// What a request's logits processors make of the target's rows for the nodes of a round. The target's own
/// rows stay as they are. Memory for a row is kept from round to round. For one thread at a time.
class ProcessedRows {
 public:
  /// The processors are called as they are: hosted() is up to the caller. Throws Error for an empty one.
  explicit ProcessedRows(std::vector<LogitsProcessor> processors);

  /// There are no processors.
  bool none() const { return processors_.empty(); }
  /// Forgets the rows of the last round.
  void begin_round() { nodes_.clear(); }
  /// The row of a node, made when it is first asked for in the round. `tokens`: the text up to the node;
  /// `logits`: [vocab] the target's. Valid until the next call. Throws Error for a row that nothing can be
  /// drawn from, and passes on what a processor throws.
  std::span<const float> of(std::int32_t node, std::span<const float> logits,
                            std::span<const TokenId> tokens);

 private:
  std::vector<LogitsProcessor> processors_;
  std::vector<std::int32_t> nodes_;       ///< that have a row
  std::vector<std::vector<float>> rows_;  ///< [i]: of nodes_[i]; there may be more than nodes
};

}  // namespace augur
