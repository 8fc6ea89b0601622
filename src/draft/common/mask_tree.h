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

/// What a sequence's constraint says along the paths of a round's trees. A path is a state, whichever tree it
/// is in, so drafters and verification share the masks: each is computed once, when it is first asked for. A
/// round has a share of work, of which a root's mask that takes more is no part: a path whose mask would
/// go beyond it is refused as one that is not allowed, so that less is drafted, and verification ends before
/// it. One thread at a time; after the first rounds nothing of its own allocates.
class MaskTree {
 public:
  static constexpr std::int32_t kRoot = 0;      ///< the state of the text as it is, up to the trees' root
  static constexpr std::int32_t kIllegal = -1;  ///< of every path that the constraint does not allow
  static constexpr std::int64_t kRoundWork = 500'000;  ///< in TokenConstraint::work()

  MaskTree(std::unique_ptr<TokenConstraint> constraint, std::int64_t vocab);

  /// The state behind one more token. kIllegal, too, where the round has no more work for a new one.
  std::int32_t after(std::int32_t state, TokenId token);
  /// The state of a node: of the text and the path from the root, which is the text's newest token, to it.
  std::int32_t at(const DraftTree& tree, std::int32_t node);
  /// Which tokens may come next; all, where the text has ended, the path is illegal, or the round has no work
  /// left to find out: knows() says so. Valid until advance().
  TokenMask allowed(std::int32_t state);
  /// Whether allowed() says it, of a path that is legal. The root's mask is made whatever it takes.
  bool knows(std::int32_t state);

  /// Makes the root's mask if a round's share of work is enough for it. False: it is not.
  bool try_root_mask();
  /// Makes it whatever it takes (TokenConstraint::fill_unless). On any thread, while nobody else uses this.
  void make_root_mask(const std::function<bool()>& stopped);

  /// Whether the text is complete there.
  bool ended(std::int32_t state) const { return states_[static_cast<std::size_t>(state)].ended; }
  /// TokenConstraint::forced(). Not of an illegal path, nor where the text has ended.
  std::string forced(std::int32_t state);

  /// Drops the nodes that the constraint does not allow.
  void prune(DraftTree& tree);
  /// The text goes on with a token that is allowed.
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
