#include "policy/eagle2_policy.h"

#include <algorithm>
#include <numeric>

#include "plan/keys.h"
#include "policy/registry.h"

namespace augur {

void Eagle2Policy::begin(const RoundInfo& round) {
  room_ = round.room;
  most_levels_ = round.most_levels();
  adjust(options_.levels, options_.size);
  one_shot_ = round.drafter.one_shot;
  level_ = 0;
  level_begin_ = 0;
}

void Eagle2Policy::adjust(int levels, int size) {
  keep_ = std::max(0, std::min(size - 1, room_));
  levels_ = std::max(0, std::min(levels, most_levels_));
}

void Eagle2Policy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  if (keep_ == 0 || level_ == levels_) return;
  order_.resize(static_cast<std::size_t>(tree.size() - level_begin_));
  std::iota(order_.begin(), order_.end(), level_begin_);
  const std::size_t count = std::min(order_.size(), static_cast<std::size_t>(options_.top_k));
  best_first(order_, count, tree.scores());
  out.assign(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count));
  level_begin_ = tree.size();
  ++level_;
}

void Eagle2Policy::prune(DraftTree& tree) {
  const std::size_t candidates = static_cast<std::size_t>(tree.size()) - 1;
  if (candidates <= static_cast<std::size_t>(keep_)) return;
  if (tree.law() == ProposalLaw::Sampled) {
    // Cut by place: which nodes go must not depend on the tokens that were drawn for them.
    tree.truncate(keep_ + 1);
    return;
  }
  reranker_.keep_best(tree, static_cast<std::size_t>(keep_));
}

Eagle2Policy::Options tree_limits(PolicyArguments& arguments) {
  return {.top_k = arguments.limit(&SpeculationPlan::tree_topk),
          .levels = arguments.limit(&SpeculationPlan::tree_depth),
          .size = arguments.limit(&SpeculationPlan::tree_size)};
}

TreeBounds bounds_of(const Eagle2Policy::Options& tree) {
  const std::int64_t levels = tree.levels;
  return {.nodes = {tree.size, key_of(&SpeculationPlan::tree_size).key},
          .expanded = {1 + (levels - 1) * tree.top_k, "topk and depth"}};
}

std::unique_ptr<TreePolicy> tree_or_chain(const DrafterTraits& drafter, const Eagle2Policy::Options& tree,
                                          const ChainPolicy::Options& chain) {
  if (drafter.one_branch()) return std::make_unique<ChainPolicy>(chain);
  return std::make_unique<Eagle2Policy>(tree);
}

namespace {

class Eagle2Model final : public PolicyModel {
 public:
  Eagle2Model(const Eagle2Policy::Options& options, const ChainPolicy::Options& chain)
      : options_(options), chain_(chain) {}
  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    return tree_or_chain(drafter.traits, options_, chain_);
  }
  int merged_nodes() const override { return options_.size - 1; }
  TreeBounds bounds() const override { return larger(bounds_of(options_), bounds_of(chain_)); }

 private:
  Eagle2Policy::Options options_;
  ChainPolicy::Options chain_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_eagle2_policy(const PolicySource& source) {
  return std::make_unique<Eagle2Model>(tree_limits(source.arguments), chain_limits(source.arguments));
}

}  // namespace augur
