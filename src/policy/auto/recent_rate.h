#pragma once

namespace augur {

/// What recent rounds came to, in tokens and plain steps of a sequence: the price of time is their rate. And
/// when plain steps are to be taken, for everything is counted in these.
class RecentRate {
 public:
  struct Round {
    double tokens = 0;      ///< of a sequence
    double steps = 0;       ///< plain ones that it took
    bool plain = false;     ///< it was one
    double unexpected = 0;  ///< by how much of what the costs say it did not take that
  };
  void observe(const Round& round);

  double tokens() const { return tokens_; }
  double tokens_per_step() const { return tokens_ / steps_; }
  /// Whether plain steps have not been seen for too long.
  bool plain_steps_due() const;

 private:
  double tokens_ = 1;
  double steps_ = 1;
  double rounds_ = 0;
  double since_plain_ = 0;  ///< rounds since a plain step after another
  bool was_plain_ = false;  ///< the last round
  bool saw_plain_ = false;  ///< two in a row, ever
};

}  // namespace augur
