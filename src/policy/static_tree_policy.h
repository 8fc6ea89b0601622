#pragma once
#include <span>

#include "policy/policy.h"

namespace augur {

/// A fixed shape: each path names a node by the ranks of the children that lead to it, [0], [0, 1], ...
/// The k-th child that the drafter adds to a node has rank k. Every prefix of a path belongs to the tree.
class StaticTreePolicy final : public TreePolicy {
 public:
  /// Error for an empty path or a negative rank.
  explicit StaticTreePolicy(std::span<const std::vector<int>> paths);

  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return width_; }
  void prune(DraftTree& tree) override;

  int nodes() const { return static_cast<int>(shape_.size()) - 1; }  ///< beside the root

 private:
  struct ShapeNode {
    int depth = 0;
    int widest_rank = -1;                               ///< highest rank among its children
    std::vector<std::pair<int, std::size_t>> children;  ///< (rank, shape node)
  };
  std::size_t child(std::size_t node, int rank) const;  ///< 0: not in the shape
  void place(const DraftTree& tree);

  std::vector<ShapeNode> shape_;
  std::vector<std::size_t> placed_;  ///< shape node of every tree node; 0 for nodes outside the shape
  std::vector<std::int32_t> keep_;
  int level_ = 0;
  int most_levels_ = 0;
  int room_ = 0;
  int width_ = 0;
  bool one_shot_ = false;
};

}  // namespace augur
