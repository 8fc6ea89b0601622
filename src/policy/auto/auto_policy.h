#pragma once
#include <vector>

#include "policy/auto/auto_controller.h"
#include "policy/auto/score_book.h"
#include "policy/policy.h"

namespace augur {

/// Grows one drafter's tree as an AutoController prices it: level by level, as wide as pays, until the next
/// level is expected to add less than its time is worth. Scores become sums of log a(v), calibrated.
class AutoPolicy final : public TreePolicy {
 public:
  /// `scores`: of this drafter's nodes, beside its own probabilities. They outlive the policy.
  AutoPolicy(AutoController& controller, std::size_t seat, std::span<NodeScore* const> scores = {});

  std::string_view name() const override { return "auto"; }
  NodeWants wants() const override { return scores_.wants(); }
  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return width_; }
  void prune(DraftTree& tree) override;
  void observe(const StepTrace& trace) override;

 private:
  void reconsider(const DraftTree& tree);
  void absorb(const DraftTree& tree);
  void choose_frontier(std::vector<std::int32_t>& out);
  int children_worth(double chance, int depth) const;
  double level_ms(int level, int width) const;

  AutoController& controller_;
  std::size_t seat_;
  ScoreBook scores_;
  RoundInfo round_;
  int levels_ = 0;  ///< that may be drafted
  int level_ = 0;
  int width_ = 0;
  bool wanted_ = false;
  bool drawn_ = false;             ///< the tree's law is Sampled
  std::int32_t level_begin_ = 0;   ///< nodes from here on belong to the newest level
  std::vector<float> acceptance_;  ///< a(v) by node
  std::vector<float> chance_;      ///< P(v) by node
  std::vector<std::int32_t> newest_;
  std::vector<std::int32_t> expanded_;  ///< the last frontier, where there are scores
  std::vector<float> fresh_;
  std::vector<float> hypothetical_;
};

}  // namespace augur
