#pragma once
#include <functional>
#include <memory>

#include "policy/chain_shape.h"
#include "policy/eagle2_policy.h"
#include "policy/registry.h"
#include "policy/stop_rule.h"

namespace augur {

/// Drafts until a rule says that the next token is not worth it. As a chain, the papers' form, it ends before
/// the first token that does not pass. As a tree it is EAGLE-2's, and no level is drafted after one whose
/// best node does not pass. Drafters whose probabilities are guesses are not measured by the rule.
class EarlyStopPolicy final : public TreePolicy {
 public:
  struct Options {
    int max = 8;        ///< tokens of a chain
    bool tree = false;  ///< otherwise a chain
    Eagle2Policy::Options shape;
  };
  EarlyStopPolicy(std::unique_ptr<StopRule> rule, const Options& options);

  NodeWants wants() const override { return rule_->wants(); }
  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override;
  bool branches() const override { return options_.tree; }
  void prune(DraftTree& tree) override;
  void observe(const StepTrace& trace) override { rule_->observe(trace); }

 private:
  bool passes(const DraftTree& tree, std::int32_t node) const {
    return node == DraftTree::kRoot || !measured_ || rule_->passes(tree, node);
  }
  void prune_chain(DraftTree& tree);

  std::unique_ptr<StopRule> rule_;
  Options options_;
  ChainShape chain_;
  Eagle2Policy tree_;
  bool measured_ = true;
};

/// The policy of a rule: reads n-max, tree, topk, depth and size, and makes a rule for every drafter.
std::unique_ptr<PolicyModel> early_stop_model(const PolicySource& source,
                                              std::function<std::unique_ptr<StopRule>()> make_rule);

}  // namespace augur
