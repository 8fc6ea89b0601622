#pragma once
#include <cstdint>
#include <vector>

#include "policy/policy.h"

namespace augur {

/// A chain in a tree: the root, its first child, that one's first child, and so on. What policies that draft
/// chains have in common.
class ChainShape {
 public:
  /// `max`: tokens that it may ever have.
  explicit ChainShape(int max) : max_(max) { kept_.reserve(static_cast<std::size_t>(max) + 1); }

  void begin(const RoundInfo& round);
  /// Tokens that this round's chain may have.
  int limit() const { return limit_; }
  /// A one-shot drafter adds all tokens of the chain at once.
  int width() const { return one_shot_ ? limit_ : 1; }
  /// The node that the next token comes after; -1: the chain is as long as it may be, or was a one-shot
  /// drafter's. Asked once for every level.
  std::int32_t next(const DraftTree& tree);

  /// The chain up to its first node that does not pass, which is left out unless `keeps_failed`. At most
  /// limit() tokens. To be changed by the caller; valid until the next call.
  template <class Passes>
  std::vector<std::int32_t>& passing(const DraftTree& tree, bool keeps_failed, Passes&& passes) {
    kept_.assign(1, DraftTree::kRoot);
    for (std::int32_t node = tree.first_child(DraftTree::kRoot); node >= 0; node = tree.first_child(node)) {
      if (static_cast<int>(kept_.size()) > limit_) break;
      const bool passed = passes(node);
      if (passed || keeps_failed) kept_.push_back(node);
      if (!passed) break;
    }
    return kept_;
  }

 private:
  int max_;
  int limit_ = 0;
  bool one_shot_ = false;
  bool started_ = false;
  std::vector<std::int32_t> kept_;
};

}  // namespace augur
