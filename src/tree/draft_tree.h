#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/types.h"

namespace augur {

/// Who put a node into a tree: 0 is the target itself (the root), i > 0 the sequence's i-th drafter.
using ProposerId = std::uint8_t;
inline constexpr ProposerId kTargetProposer = 0;
inline constexpr ProposerId kMaxProposer = std::numeric_limits<ProposerId>::max();

/// How the children of a node came about, which decides how they may be verified.
enum class ProposalLaw {
  Deterministic,  ///< a function of the context (top-k, look-up, coupled noise): q is 1
  Sampled,        ///< drawn from the stored q of their parent, siblings without replacement, in index order
};

/// A tree of proposed continuations, as flat arrays. Node 0 is the root: the newest token of the text, which
/// the target has not run yet. Invariants: a parent precedes its children, depth(root) = 0, and no two
/// children of a node carry the same token. Any size and shape. After the first rounds nothing allocates.
///
///        0: the             node           0    1    2    3    4
///        /       \          tokens         the  cat  dog  sat  ran
///     1: cat    2: dog      parents        -1   0    0    1    1
///     /    \                depths         0    1    1    2    2
///  3: sat  4: ran           first_child    1    3    -1   -1   -1
///                           next_sibling   -1   2    -1   4    -1
///
class DraftTree {
 public:
  static constexpr std::int32_t kRoot = 0;

  DraftTree();

  /// Back to the root alone: `token` at absolute position `position`. The law is Deterministic again.
  void reset(TokenId token, std::int64_t position);

  /// Adds a child, or returns the one that already carries the token.
  /// `log_prob` is its probability given its parent by whoever proposes it (0 where there is no such thing).
  std::int32_t add(std::int32_t parent, TokenId token, float log_prob, ProposerId proposer);

  /// Adds the nodes of a tree with the same root. A node is the path of tokens that leads to it: where both
  /// trees have it, it stays one node, with the probability and the step in score (over its parent's) of the
  /// surer one. The laws are Deterministic.
  void graft(const DraftTree& other);

  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
  bool only_root() const { return size() == 1; }
  std::int64_t root_position() const { return root_position_; }

  std::span<const TokenId> tokens() const { return tokens_; }
  std::span<const std::int32_t> parents() const { return parents_; }  ///< -1 for the root
  std::span<const std::int32_t> depths() const { return depths_; }
  std::span<const float> log_probs() const { return log_probs_; }
  std::span<const ProposerId> proposers() const { return proposers_; }  ///< who was first
  /// What policies rank nodes by: the sum of log-probabilities along the path, unless a scorer overwrites
  /// it. Children added later build on the overwritten value.
  std::span<const float> scores() const { return scores_; }
  std::span<float> mutable_scores() { return scores_; }

  /// What expanding a node told about it, where it was asked for (NodeWants): entropies of the distribution
  /// its children were taken from, NaN for other nodes.
  std::span<const float> entropies() const { return entropies_; }
  std::span<const float> top_entropies() const { return top_entropies_; }
  void set_entropy(std::int32_t node, float entropy) { entropies_[index(node)] = entropy; }
  void set_top_entropy(std::int32_t node, float entropy) { top_entropies_[index(node)] = entropy; }
  /// The drafter's hidden state at the node, after its token has run; empty for other nodes. Not grafted:
  /// drafters differ in width. [width of the tree's drafter]
  std::span<const float> hidden(std::int32_t node) const;
  /// The row of a node without one, to be filled. All of a tree have one width.
  std::span<float> make_hidden(std::int32_t node, std::size_t width);

  /// Children in the order in which they were added; -1 ends the list.
  std::int32_t first_child(std::int32_t node) const { return first_child_[index(node)]; }
  std::int32_t next_sibling(std::int32_t node) const { return next_sibling_[index(node)]; }
  /// The child that carries the token, or -1.
  std::int32_t find_child(std::int32_t parent, TokenId token) const;
  int max_depth() const { return max_depth_; }

  /// Keeps the nodes `keep` (strictly ascending, the root first, closed under parents) and renumbers them.
  /// Throws std::logic_error for others, and leaves the tree as it was.
  void select(std::span<const std::int32_t> keep);
  /// Keeps the first `count` nodes (at least the root).
  void truncate(std::int32_t count);
  /// Drops the nodes below `depth`.
  void limit_depth(int depth);

  ProposalLaw law() const { return law_; }
  /// Declares the children of every node to be drawn from stored rows of `vocab` probabilities.
  void set_sampled(std::int32_t vocab);
  /// The row of a node, to be filled: the probabilities its children are drawn from. [vocab]
  std::span<float> make_q(std::int32_t parent);
  /// Empty for a node without one.
  std::span<const float> q(std::int32_t parent) const;

  /// Appends the nodes as rows of a forward pass; their parents become row numbers of that pass.
  void append_rows(std::vector<TokenId>& tokens, std::vector<std::int32_t>& positions,
                   std::vector<std::int32_t>& parents) const;

 private:
  static std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }
  void renumber(std::span<const std::int32_t> keep);
  void rebuild_links();

  std::int64_t root_position_ = 0;
  int max_depth_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> depths_;
  std::vector<float> log_probs_;
  std::vector<float> scores_;
  std::vector<ProposerId> proposers_;
  std::vector<std::int32_t> first_child_;
  std::vector<std::int32_t> last_child_;
  std::vector<std::int32_t> next_sibling_;

  ProposalLaw law_ = ProposalLaw::Deterministic;
  std::int32_t q_vocab_ = 0;
  std::size_t q_rows_ = 0;
  std::vector<std::int32_t> q_row_;  ///< by node, -1: none
  std::vector<float> q_;             ///< [q_rows_, q_vocab_]

  std::vector<float> entropies_;
  std::vector<float> top_entropies_;
  std::size_t hidden_width_ = 0;
  std::size_t hidden_rows_ = 0;
  std::vector<std::int32_t> hidden_row_;  ///< by node, -1: none
  std::vector<float> hidden_;             ///< [hidden_rows_, hidden_width_]

  std::vector<std::int32_t> renumbered_;  ///< scratch of select() and graft()
  std::vector<float> steps_;              ///< scratch of graft(): score over the parent's
  std::vector<std::int32_t> kept_;        ///< scratch of limit_depth()
};

}  // namespace augur
