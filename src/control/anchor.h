#pragma once
namespace augur {

/// When to take a plain step in between, so that what plain decoding costs is known from steps and not from
/// a measurement alone: gains and losses are counted in plain steps, and who believes these to be dear drafts
/// in every round and never sees one. After 4 rounds without one, later after 200, which is at most 0.5% of
/// the time, as a round takes at least what a plain step does. Once more, as long as it takes less than was
/// believed (what disturbs a step never makes it shorter).
class Anchor {
 public:
  static constexpr int kFirst = 4;
  static constexpr int kUsual = 200;

  bool due() const { return waited_ >= interval_; }
  void other_step() { ++waited_; }
  /// A plain step took `ms`, `believed_ms` were expected. Returns whether that was wrong.
  bool plain_step(double ms, double believed_ms) {
    const bool cheaper = ms * kMargin < believed_ms;
    interval_ = kUsual;
    waited_ = cheaper ? interval_ : 0;
    return cheaper;
  }

 private:
  static constexpr double kMargin = 1.4;
  int interval_ = kFirst;
  int waited_ = 0;
};

}  // namespace augur
