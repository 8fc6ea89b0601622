#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/sparse_distribution.h"
#include "tree/draft_tree.h"
#include "verify/chance.h"

namespace augur {

/// What verification asks the target about a node, namely about the token after the path from the root to the
/// node. Asked only for nodes on the accepted path, in order, each at most once per function.
class TargetView {
 public:
  virtual ~TargetView() = default;
  /// The token sampled from the target: exactly the one that plain decoding would emit there.
  virtual TokenId draw(std::int32_t node) = 0;
  /// Whether the target can be asked about a node. If not, the verdict ends with the node's token. Asked for
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

/// Samples from the target at the current node and descends while a child has the sampled token. The text is
/// that of plain decoding whatever the tree, because draw() does not depend on the tree. The tree may depend
/// on the noise.
void verify_walk(const DraftTree& tree, TargetView& target, Verdict& out);

/// Buffers of the rejection verifiers.
struct RejectionScratch {
  std::vector<double> p;  ///< residual distribution of the target, over its tokens or over the vocabulary
  std::vector<double> q;  ///< residual distribution of the drafter [vocab]
};

/// Sequential rejection for children that were not drawn (q = 1): child x, in order, is accepted with
/// probability p[x]; a rejected one loses its probability and the rest is renormalised. The output has the
/// same distribution as the walk's.
void verify_sequential(const DraftTree& tree, TargetView& target, Chance& chance, RejectionScratch& scratch,
                       Verdict& out);

/// Rejection for children drawn from the stored q of their parent, siblings without replacement (Leviathan
/// et al., 2023; Chen et al., 2023): child x is accepted with probability min(1, p[x] / q[x]); after a
/// rejection p becomes norm(max(0, p - q)) and q loses x and is renormalised. Asserts law() == Sampled.
void verify_rejection(const DraftTree& tree, TargetView& target, Chance& chance, RejectionScratch& scratch,
                      Verdict& out);

}  // namespace augur
