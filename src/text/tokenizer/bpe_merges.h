#pragma once
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace augur {

/// The merge rules of a byte-pair encoding, and their application to one word. Immutable once built,
/// thread-safe.
class BpeMerges {
 public:
  BpeMerges() : slots_(2), mask_(1) {}
  explicit BpeMerges(std::size_t expected_rules);

  /// Symbols `left` `right` in sequence become `result`; a lower rank goes first. A second rule for the same
  /// pair replaces the first.
  void add(TokenId left, TokenId right, std::uint32_t rank, TokenId result);

  /// Applies the rules until none applies: always the lowest rank, and the leftmost of equals. O(n log n).
  void apply(std::vector<TokenId>& symbols) const;

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t pair = kEmpty;
    std::uint32_t rank = 0;
    TokenId result = 0;
  };
  const Slot* find(TokenId left, TokenId right) const;
  std::size_t home(std::uint64_t pair) const;
  void grow(std::size_t slots);
  void apply_short(std::vector<TokenId>& symbols) const;
  void apply_long(std::vector<TokenId>& symbols) const;

  std::vector<Slot> slots_;  ///< open addressing, linear probing, at most half full
  std::size_t mask_;
  std::size_t count_ = 0;
};

}  // namespace augur
