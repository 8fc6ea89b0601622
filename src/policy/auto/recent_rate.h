#pragma once

namespace augur {

/// What recent rounds came to, in tokens and plain steps of a sequence: the price of time is their rate. And
/// when plain steps are to be taken, for everything is counted in these.
class RecentRate {
 public:
  /// A round gave a sequence so many tokens, and took so many plain steps; `plain`: it was one; `unexpected`:
  /// by how much of what the costs say it did not take that.
  void observe(double tokens, double steps, bool plain, double unexpected);

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
