#pragma once
#include <augur/custom_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

/// EAGLE-2's dynamic tree (Li et al., 2024), as the engine's own "eagle2" makes it: every level expands the
/// best nodes of the level before by score; all candidates are kept until the end; then the best of them are
/// verified. Equal scores go to the lower index, so that a kept node's ancestors are kept.
class Eagle2Tree final : public augur::CustomPolicy {
 public:
  struct Shape {
    int children = 4;  ///< of a node, and nodes that a level expands
    int levels = 4;
    int size = 16;  ///< nodes verified, the root included
    int chain = 4;  ///< tokens of a drafter that knows one branch only
  };
  explicit Eagle2Tree(const Shape& shape) : shape_(shape) {}

  void begin(const augur::PolicyRound& round) override {
    one_shot_ = round.drafter.one_shot;
    const int most = round.drafter.one_branch() ? std::min(shape_.chain, round.max_depth) : shape_.size - 1;
    keep_ = std::max(0, std::min(most, round.room));
    levels_ = std::max(0, std::min(shape_.levels, round.levels));
    level_ = 0;
    level_begin_ = 0;
  }

  int grow(const augur::DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    if (keep_ == 0 || level_ == levels_) return 0;
    const auto size = static_cast<std::int32_t>(tree.tokens.size());
    for (std::int32_t node = level_begin_; node < size; ++node) nodes.push_back(node);
    sort_best_first(tree, nodes);
    nodes.resize(std::min(nodes.size(), static_cast<std::size_t>(shape_.children)));
    level_begin_ = size;
    ++level_;
    return one_shot_ ? keep_ : shape_.children;
  }

  void keep(const augur::DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    // Which drawn nodes go must not depend on the tokens that were drawn for them: they go by their places.
    if (!tree.drawn) sort_best_first(tree, nodes);
    nodes.resize(std::min(nodes.size(), static_cast<std::size_t>(keep_) + 1));
  }

 private:
  /// The root, whose score is 0, is the best.
  static void sort_best_first(const augur::DraftedTree& tree, std::vector<std::int32_t>& nodes) {
    std::sort(nodes.begin(), nodes.end(), [&](std::int32_t a, std::int32_t b) {
      const float score_of_a = tree.scores[static_cast<std::size_t>(a)];
      const float score_of_b = tree.scores[static_cast<std::size_t>(b)];
      return score_of_a != score_of_b ? score_of_a > score_of_b : a < b;
    });
  }

  Shape shape_;
  bool one_shot_ = false;
  int keep_ = 0;  ///< nodes besides the root, in this round
  int levels_ = 0;
  int level_ = 0;
  std::int32_t level_begin_ = 0;  ///< the first node that was added for the last level
};
