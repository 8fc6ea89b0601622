#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace augur {

/// The n-grams of a growing text, and where each was last followed by a token. Appending a token costs one
/// insertion per n-gram length, a look-up one probe per length: the text is never scanned again.
class NgramIndex {
 public:
  /// Lengths 1 <= min <= max; Error otherwise. Up to `reserved` tokens are appended without an allocation.
  NgramIndex(int min, int max, std::int64_t reserved = 0);

  void clear();
  void append(TokenId token);
  std::span<const TokenId> tokens() const { return tokens_; }

  struct Match {
    std::int32_t next = -1;  ///< position of the token that followed the earlier occurrence; -1: no match
    int length = 0;
  };
  /// The latest earlier occurrence of the longest suffix of the text that has one, of up to `max` tokens. Its
  /// length is how far the texts agree, kLongestMatch at most.
  Match find() const;

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t next = -1;  ///< -1: empty
  };
  void insert(std::uint64_t key, std::int32_t next);
  void grow();

  int min_;
  int max_;
  std::vector<TokenId> tokens_;
  std::vector<Slot> slots_;  ///< open addressing, a power of two
  std::size_t used_ = 0;
};

}  // namespace augur
