#include "policy/early_stop_policy.h"

#include <algorithm>
#include <utility>

#include "policy/shape_limits.h"

namespace augur {

EarlyStopPolicy::EarlyStopPolicy(std::unique_ptr<StopRule> rule, const Options& options)
    : rule_(std::move(rule)), options_(options), shape_(options.shape) {
  keep_.reserve(static_cast<std::size_t>(options.max) + 1);
}

void EarlyStopPolicy::begin(const RoundInfo& round) {
  shape_.begin(round);
  limit_ = std::max(0, std::min({options_.max, round.room, round.max_depth, round.drafter.max_depth}));
  measured_ = round.drafter.has_probabilities;
  one_shot_ = round.drafter.one_shot;
  started_ = false;
}

int EarlyStopPolicy::width() const {
  if (options_.tree) return shape_.width();
  return one_shot_ ? limit_ : 1;
}

void EarlyStopPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  if (options_.tree) {
    shape_.next_frontier(tree, out);
    if (!out.empty() && !passes(tree, out.front())) out.clear();
    return;
  }
  out.clear();
  if (limit_ == 0 || (one_shot_ && started_)) return;
  started_ = true;
  std::int32_t last = DraftTree::kRoot;
  while (tree.first_child(last) >= 0) last = tree.first_child(last);
  if (tree.depths()[static_cast<std::size_t>(last)] < limit_ && passes(tree, last)) out.push_back(last);
}

void EarlyStopPolicy::prune(DraftTree& tree) {
  if (options_.tree) {
    shape_.prune(tree);
  } else {
    prune_chain(tree);
  }
}

void EarlyStopPolicy::prune_chain(DraftTree& tree) {
  const bool may_drop = tree.law() == ProposalLaw::Deterministic || rule_->blind_to_token();
  keep_.assign(1, DraftTree::kRoot);
  for (std::int32_t node = tree.first_child(DraftTree::kRoot); node >= 0; node = tree.first_child(node)) {
    if (static_cast<int>(keep_.size()) > limit_) break;
    const bool fails = may_drop && !passes(tree, node);
    if (!fails || rule_->keeps_last()) keep_.push_back(node);
    if (fails) break;
  }
  if (static_cast<std::int32_t>(keep_.size()) < tree.size()) tree.select(keep_);
}

namespace {

class EarlyStopModel final : public PolicyModel {
 public:
  EarlyStopModel(const EarlyStopPolicy::Options& options,
                 std::function<std::unique_ptr<StopRule>()> make_rule)
      : options_(options), make_rule_(std::move(make_rule)) {}

  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    EarlyStopPolicy::Options options = options_;
    // Look-ups that know one branch only draft a chain.
    if (drafter.traits.one_shot && !drafter.traits.branching) options.tree = false;
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
