#pragma once
namespace augur {

/// When to take a step for what it says of the costs: soon after the beginning, then seldom; but once more as
/// long as it takes less than was believed (what disturbs a step never makes it shorter). There are two
/// kinds.
///
/// A plain step in between, so that what plain decoding costs is known from steps and not from a measurement
/// alone: gains and losses are counted in plain steps, and who believes these to be dear drafts in every
/// round and never sees one. It is at most 0.5% of the time, as a round takes at least what a plain step
/// does.
///
/// A step with more rows than pay: who believes these to be dear never verifies so many and never learns that
/// they are not.
class CostCheck {
 public:
  static constexpr int kUsual = 200;  ///< other steps between two
  static constexpr int kDeferred = 40;

  explicit CostCheck(int first) : interval_(first) {}

  /// What is asked was looked at in another way when the process began: the first such step can wait.
  void defer() {
    if (!taken_) interval_ = kDeferred;
  }
  bool due() const { return waited_ >= interval_; }
  /// `share`: of the step that is this sequence's; all of a batch see the same check and take it together.
  void other_step(double share = 1) { waited_ += share; }
  /// Such a step took `ms`, `believed_ms` were expected. Returns whether that was wrong.
  bool taken(double ms, double believed_ms) {
    const bool cheaper = ms * kMargin < believed_ms;
    taken_ = true;
    interval_ = kUsual;
    waited_ = cheaper ? interval_ : 0;
    return cheaper;
  }

 private:
  static constexpr double kMargin = 1.4;
  double interval_;
  double waited_ = 0;
  bool taken_ = false;
};

}  // namespace augur
