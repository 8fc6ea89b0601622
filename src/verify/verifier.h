#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/sparse_distribution.h"
#include "tree/draft_tree.h"
#include "verify/chance.h"

namespace augur {

/// What verification may ask the target about a node: the token after the path from the root to the node.
/// Asked only for nodes on the accepted path, in order, each at most once per kind of question.
class TargetView {
 public:
  virtual ~TargetView() = default;
  /// The target's own draw, exactly the token that plain decoding would emit there.
  virtual TokenId draw(std::int32_t node) = 0;
  /// Whether more can be asked about a node: where not, its token is the last one of the verdict. Asked of
  /// each node that is about to be accepted.
  virtual bool can_enter(std::int32_t /*node*/) { return true; }
  /// The distribution that draw() draws from, after temperature, penalties and truncation. Valid until the
  /// next call.
  virtual const SparseDistribution& distribution(std::int32_t node) = 0;
};

/// Result of a verification: the accepted nodes, the root first, and the target's own token after them.
struct Verdict {
  std::vector<std::int32_t> path;
  TokenId next = -1;
};

/// Draws from the target at the current node and descends while a child carries the drawn token. The text is
/// that of plain decoding whatever the tree: draw() knows nothing of it. The tree may depend on the noise.
void verify_walk(const DraftTree& tree, TargetView& target, Verdict& out);

/// Buffers of the rejection verifiers.
struct RejectionScratch {
  std::vector<double> p;  ///< residual law of the target: over its tokens, or over the vocabulary
  std::vector<double> q;  ///< residual law of the drafter [vocab]
};

/// Sequential rejection for children that were not drawn (q = 1): child x, in order, is accepted with
/// probability p[x]; a rejected one loses its mass and the rest is renormalised. The same law as the walk.
void verify_sequential(const DraftTree& tree, TargetView& target, Chance& chance, RejectionScratch& scratch,
                       Verdict& out);

/// Rejection for children drawn from the stored q of their parent, siblings without replacement (Leviathan
/// et al., 2023; Chen et al., 2023): child x is accepted with probability min(1, p[x] / q[x]); after a
/// rejection p becomes norm(max(0, p - q)) and q loses x and is renormalised. Asserts law() == Sampled.
void verify_rejection(const DraftTree& tree, TargetView& target, Chance& chance, RejectionScratch& scratch,
                      Verdict& out);

}  // namespace augur
