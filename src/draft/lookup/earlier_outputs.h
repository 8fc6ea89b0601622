#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "draft/lookup/suffix_trie.h"

namespace augur {

/// Outputs of earlier sequences, each owner's apart: what one has written is never proposed to another. Of
/// bounded size over all owners; what was used least recently goes first. One thread at a time.
class EarlierOutputs {
 public:
  /// As many bytes as make an owner's tries of 2^21 nodes each.
  static constexpr std::int64_t kUsualBytes = std::int64_t{2} * (1 << 21) * SuffixTrie::kNodeBytes;
  static constexpr std::size_t kMostOwners = 256;  ///< beside those that sequences have in hand

  explicit EarlierOutputs(int depth, std::int64_t bytes = kUsualBytes);

  /// The owner's, which counts as used. It stays the owner's as long as it is held; its nodes may be
  /// forgotten meanwhile.
  std::shared_ptr<SuffixMemory> of(const std::string& owner);
  std::int64_t bytes() const;
  /// No more than so many bytes from here on. What is inserted later counts at the next call.
  void limit(std::int64_t bytes);
  /// Forgets what was used least recently. False: there is nothing.
  bool drop_oldest();
  /// Of all owners.
  void clear();
  std::size_t owners() const { return owners_.size(); }

 private:
  struct Owner {
    std::string name;
    std::shared_ptr<SuffixMemory> memory;
  };
  using Owners = std::list<Owner>;
  std::size_t most_nodes() const;
  void drop(Owners::iterator owner);

  int depth_;
  std::int64_t most_bytes_;
  Owners owners_;  ///< the one used last first
};

}  // namespace augur
