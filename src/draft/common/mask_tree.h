#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sampling/token_constraint.h"
#include "sampling/token_mask.h"
#include "tree/draft_tree.h"

namespace augur {

/// Evaluates a sequence's constraint along the paths of a round's trees. A state stands for a path, in
/// whichever tree, so drafters and verification share the masks, each of which is computed once, when first
/// asked for. The work per round is limited (kRoundWork; a root's mask that takes more does not count). A
/// path whose mask would exceed the limit is treated as illegal, so less is drafted, and verification ends
/// before it. For one thread at a time; after the first rounds it allocates nothing itself.
class MaskTree {
 public:
  static constexpr std::int32_t kRoot = 0;             ///< the state at the trees' root, after the whole text
  static constexpr std::int32_t kIllegal = -1;         ///< for every path that the constraint forbids
  static constexpr std::int64_t kRoundWork = 500'000;  ///< in TokenConstraint::work()

  MaskTree(std::unique_ptr<TokenConstraint> constraint, std::int64_t vocab);

  /// The state after one more token; kIllegal also if no work is left in this round for a new state.
  std::int32_t after(std::int32_t state, TokenId token);
  /// The state of a node: after the text and the path from the root (the text's newest token) to the node.
  std::int32_t at(const DraftTree& tree, std::int32_t node);
  /// Which tokens may come next. All tokens, if the text has ended, the path is illegal, or the round has no
  /// work left to compute the mask; knows() tells. Valid until advance().
  TokenMask allowed(std::int32_t state);
  /// Whether allowed() returns a computed mask for this state, which must be legal. The root's mask is always
  /// computed.
  bool knows(std::int32_t state);

  /// Computes the root's mask if a round's share of work suffices; otherwise returns false.
  bool try_root_mask();
  /// Computes the root's mask without a limit (TokenConstraint::fill_unless). Any thread, if no other uses
  /// this object.
  void make_root_mask(const std::function<bool()>& stopped);

  /// Whether the text is complete in this state.
  bool ended(std::int32_t state) const { return states_[static_cast<std::size_t>(state)].ended; }
  /// TokenConstraint::forced(). Not for kIllegal, nor after the end of the text.
  std::string forced(std::int32_t state);

  /// Removes the nodes that the constraint does not allow.
  void prune(DraftTree& tree);
  /// Appends to the text a token that is allowed.
  void advance(TokenId token);

 private:
  struct State {
    std::int32_t parent = -1;
    TokenId token = -1;
    std::int32_t depth = 0;
    std::int32_t first_child = -1;
    std::int32_t next_sibling = -1;
    std::int32_t mask = -1;  ///< into masks_; -1: not asked for yet
    bool ended = false;
  };
  State& state(std::int32_t index) { return states_[static_cast<std::size_t>(index)]; }
  void go_to(std::int32_t target);
  std::int64_t work_left() const { return kRoundWork - (constraint_->work() - begun_); }
  bool affordable() const;
  template <class Fill>
  std::int64_t make_mask(std::int32_t at, const Fill& fill);

  std::unique_ptr<TokenConstraint> constraint_;
  std::size_t words_;
  std::vector<State> states_;
  std::int32_t here_ = kRoot;                      ///< the state that the constraint is in
  std::vector<std::vector<std::uint32_t>> masks_;  ///< the first masks_used_ are the round's
  std::size_t masks_used_ = 0;
  std::int64_t begun_ = 0;  ///< constraint_->work() when the round began, and what is no part of its share
  std::int64_t root_work_ = 0;  ///< work of the root's mask in this round
  std::int64_t dearest_ = 0;    ///< work of one of this round's masks, or of the root's in the last one

  std::vector<std::int32_t> path_;      ///< scratch of go_to()
  std::vector<std::int32_t> state_of_;  ///< scratch of at() and prune(), by node
  std::vector<std::int32_t> kept_;      ///< scratch of prune()
};

}  // namespace augur
