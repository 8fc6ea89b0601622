#pragma once
#include <memory>

#include "draft/common/owners_memory.h"
#include "draft/lookup/suffix_trie.h"

namespace augur {

/// Outputs of earlier sequences, each owner's apart.
class EarlierOutputs : public OwnersMemory<SuffixMemory> {
 public:
  /// As many bytes as make an owner's tries of 2^21 nodes each.
  static constexpr std::int64_t kUsualBytes = std::int64_t{2} * (1 << 21) * SuffixTrie::kNodeBytes;

  explicit EarlierOutputs(int depth, std::int64_t bytes = kUsualBytes)
      : OwnersMemory([depth] { return std::make_shared<SuffixMemory>(depth, 0); }, bytes) {}
};

}  // namespace augur
