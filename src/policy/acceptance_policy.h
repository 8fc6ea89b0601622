#pragma once
#include <memory>
#include <vector>

#include "policy/acceptance_head.h"
#include "policy/eagle2_policy.h"

namespace augur {

/// Acceptance-guided drafting: EAGLE-2's tree, whose branches stop when one of their tokens is likely to be
/// rejected. A node's rejection probability is 1 - the product of its path's acceptance probabilities, the
/// root left out; those are a head's, read off the drafter's hidden state when the node is expanded, or
/// without a head the draft probabilities. A node above the threshold h is not drafted on from; with a head,
/// which has seen it only when it has been, none of its children is.
///
/// h follows from costs (section 2.3, equations 11 and 12): drafting the next k tokens pays while
/// T_d(k) + P_rej T_r < T_v, so h = (T_v - T_d(k)) / T_r. It is decided level by level: T_d(k) is the time of
/// the next level (levels drafted already are paid whatever is decided), T_v the verification of the
/// candidates (so many of them as may be verified), and T_r what a rejection costs: another verification, and
/// the rest of a step. A node is drafted on from while its chance of being accepted, in verifications, is
/// worth more than the level.
///
/// Drawn candidates (the Sampled law) are kept by place, as EAGLE-2 keeps them: only where drafting goes on
/// is decided by what they are.
class AcceptancePolicy final : public TreePolicy {
 public:
  struct Options {
    Eagle2Policy::Options shape;  ///< its levels are K_max
    double threshold = 0;         ///< 0: from the costs
    bool all_branches = false;    ///< one branch above h ends drafting, as the paper's text has it
    bool chain = false;
  };
  /// `head` is shared by the sequences of an engine; null: draft probabilities.
  AcceptancePolicy(std::shared_ptr<AcceptanceHead> head, const Options& options);

  NodeWants wants() const override { return head_ == nullptr ? NodeWants{} : head_->wants(); }
  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return eagle2_.width(); }
  bool branches() const override { return !options_.chain; }
  void prune(DraftTree& tree) override { eagle2_.prune(tree); }
  double classify_ms() const override { return classify_ms_; }

  /// h for a level that expands `width` nodes, with `candidates` nodes in the tree beside the root.
  double threshold(int width, int candidates) const;

 private:
  void rate(const DraftTree& tree);

  std::shared_ptr<AcceptanceHead> head_;
  Options options_;
  Eagle2Policy eagle2_;
  RoundInfo round_;
  int level_ = 0;
  /// Of every node's whole path. With a head a node has the drafter's probability until it is expanded.
  std::vector<double> accepted_;
  std::vector<std::int32_t> frontier_;
  std::vector<double> by_head_;  ///< of the frontier's nodes
  double classify_ms_ = 0;
};

}  // namespace augur
