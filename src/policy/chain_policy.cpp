#include "policy/chain_policy.h"

#include <memory>

#include "base/elementary.h"
#include "plan/keys.h"
#include "policy/registry.h"

namespace augur {

void ChainPolicy::begin(const RoundInfo& round) {
  chain_.begin(round);
  p_min_ = round.drafter.has_probabilities && !round.drafter.has_confidence ? options_.p_min : 0.0;
}

bool ChainPolicy::confident(const DraftTree& tree, std::int32_t node) const {
  return node == DraftTree::kRoot ||
         elementary::exp(static_cast<double>(tree.log_probs()[static_cast<std::size_t>(node)])) >= p_min_;
}

void ChainPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  if (chain_.limit() < options_.min) return;
  const std::int32_t last = chain_.next(tree);
  if (last >= 0 && confident(tree, last)) out.push_back(last);
}

void ChainPolicy::prune(DraftTree& tree) {
  // One-shot drafters may have added more than the chain. Drawn tokens stay, however few and improbable:
  // their number depends on what was drawn.
  const bool drawn = tree.law() == ProposalLaw::Sampled;
  std::vector<std::int32_t>& keep =
      chain_.passing(tree, false, [&](std::int32_t node) { return drawn || confident(tree, node); });
  if (!drawn && static_cast<int>(keep.size()) - 1 < options_.min) keep.resize(1);
  if (static_cast<std::int32_t>(keep.size()) < tree.size()) tree.select(keep);
}

ChainPolicy::Options chain_limits(PolicyArguments& arguments) {
  return {.max = arguments.limit(&SpeculationPlan::draft_max),
          .min = arguments.limit(&SpeculationPlan::draft_min),
          .p_min = arguments.limit(&SpeculationPlan::draft_p_min)};
}

TreeBounds bounds_of(const ChainPolicy::Options& chain) {
  const TreeBounds::Nodes nodes{chain.max, key_of(&SpeculationPlan::draft_max).key};
  return {.nodes = nodes, .expanded = nodes};
}

namespace {

class ChainModel final : public PolicyModel {
 public:
  explicit ChainModel(const ChainPolicy::Options& options) : options_(options) {}
  std::unique_ptr<TreePolicy> make(const DrafterIdentity&) override {
    return std::make_unique<ChainPolicy>(options_);
  }
  TreeBounds bounds() const override { return bounds_of(options_); }

 private:
  ChainPolicy::Options options_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_chain_policy(const PolicySource& source) {
  PolicyArguments& a = source.arguments;
  if (a.plan().tree_topk == 1) a.limit(&SpeculationPlan::tree_topk);  // how a plan may ask for a chain
  return std::make_unique<ChainModel>(chain_limits(a));
}

}  // namespace augur
