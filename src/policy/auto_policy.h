#pragma once
#include "policy/auto/choose.h"
#include "policy/policy.h"
#include "tree/rerank.h"

namespace augur {

/// Grows the tree of one drafter of one sequence: as the Chooser planned it for the whole batch.
class AutoPolicy final : public TreePolicy {
 public:
  /// The drafter is one of the text's; all outlive the policy.
  AutoPolicy(Chooser& chooser, AutoText& text, AutoText::Drafter& drafter)
      : chooser_(chooser), text_(text), drafter_(drafter) {}

  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return drafter_.width; }
  void prune(DraftTree& tree) override;

 private:
  Chooser& chooser_;
  AutoText& text_;
  AutoText::Drafter& drafter_;
  Reranker reranker_;
};

}  // namespace augur
