#pragma once
#include <memory>

#include "policy/arguments.h"
#include "policy/chain_policy.h"
#include "policy/policy.h"
#include "policy/tree_bounds.h"
#include "tree/rerank.h"

namespace augur {

/// EAGLE-2's dynamic tree (Li et al., 2024): every level expands the `top_k` best nodes of the level before
/// by score; all candidates are kept until the end; then the `size` - 1 best of them are verified with the
/// root. Equal scores go to the lower index, so that a kept node's ancestors are kept.
class Eagle2Policy final : public TreePolicy {
 public:
  struct Options {
    int top_k = 10;
    int levels = 6;  ///< depth of the deepest candidate (EAGLE-2's `depth` + 1)
    int size = 60;   ///< nodes verified, the root included (EAGLE-2's `total_token`)
  };
  explicit Eagle2Policy(const Options& options) : options_(options) {}

  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return one_shot_ ? keep_ : options_.top_k; }
  void prune(DraftTree& tree) override;
  /// Other levels and another size (the root included) for the rest of the round, within what it allows.
  void adjust(int levels, int size);

 private:
  Options options_;
  int most_levels_ = 0;  ///< that the round allows
  int room_ = 0;
  int levels_ = 0;
  int keep_ = 0;  ///< nodes beside the root
  int level_ = 0;
  bool one_shot_ = false;
  std::int32_t level_begin_ = 0;  ///< nodes from here on were added for the last frontier
  std::vector<std::int32_t> order_;
  Reranker reranker_;
};

/// A plan's topk, depth and size, each read as PolicyArguments::limit() does.
Eagle2Policy::Options tree_limits(PolicyArguments& arguments);
/// How large such a tree can get.
TreeBounds bounds_of(const Eagle2Policy::Options& tree);

/// EAGLE-2's tree, or a chain for drafters that know one branch only.
std::unique_ptr<TreePolicy> tree_or_chain(const DrafterTraits& drafter, const Eagle2Policy::Options& tree,
                                          const ChainPolicy::Options& chain);

}  // namespace augur
