#include "policy/early_stop_policy.h"

#include <utility>

namespace augur {

EarlyStopPolicy::EarlyStopPolicy(std::unique_ptr<StopRule> rule, const Options& options)
    : rule_(std::move(rule)), options_(options), chain_(options.max), tree_(options.shape) {}

void EarlyStopPolicy::begin(const RoundInfo& round) {
  chain_.begin(round);
  tree_.begin(round);
  measured_ = round.drafter.has_probabilities;
}

int EarlyStopPolicy::width() const {
  return options_.tree ? tree_.width() : chain_.width();
}

void EarlyStopPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  if (options_.tree) {
    tree_.next_frontier(tree, out);
    if (!out.empty() && !passes(tree, out.front())) out.clear();
    return;
  }
  out.clear();
  const std::int32_t last = chain_.next(tree);
  if (last >= 0 && passes(tree, last)) out.push_back(last);
}

void EarlyStopPolicy::prune(DraftTree& tree) {
  if (options_.tree) {
    tree_.prune(tree);
  } else {
    prune_chain(tree);
  }
}

void EarlyStopPolicy::prune_chain(DraftTree& tree) {
  const bool may_drop = tree.law() == ProposalLaw::Deterministic || rule_->blind_to_token();
  const std::vector<std::int32_t>& keep = chain_.passing(
      tree, rule_->keeps_last(), [&](std::int32_t node) { return !may_drop || passes(tree, node); });
  if (static_cast<std::int32_t>(keep.size()) < tree.size()) tree.select(keep);
}

namespace {

class EarlyStopModel final : public PolicyModel {
 public:
  EarlyStopModel(const EarlyStopPolicy::Options& options,
                 std::function<std::unique_ptr<StopRule>()> make_rule)
      : options_(options), make_rule_(std::move(make_rule)) {}

  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    EarlyStopPolicy::Options options = options_;
    if (drafter.traits.one_branch()) options.tree = false;
    return std::make_unique<EarlyStopPolicy>(make_rule_(), options);
  }
  int merged_nodes() const override { return options_.tree ? options_.shape.size - 1 : 0; }
  TreeBounds bounds() const override {
    const TreeBounds chain = bounds_of(ChainPolicy::Options{.max = options_.max});
    return options_.tree ? larger(bounds_of(options_.shape), chain) : chain;
  }

 private:
  EarlyStopPolicy::Options options_;
  std::function<std::unique_ptr<StopRule>()> make_rule_;
};

}  // namespace

std::unique_ptr<PolicyModel> early_stop_model(const PolicySource& source,
                                              std::function<std::unique_ptr<StopRule>()> make_rule) {
  PolicyArguments& a = source.arguments;
  EarlyStopPolicy::Options options;
  options.max = a.limit(&SpeculationPlan::draft_max, {}, options.max);
  options.tree = a.flag("tree", false);
  if (options.tree) options.shape = tree_limits(a);
  return std::make_unique<EarlyStopModel>(options, std::move(make_rule));
}

}  // namespace augur
