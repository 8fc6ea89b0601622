#pragma once
#include <algorithm>

namespace augur {

/// Keeps one generation from becoming slower than plain decoding. Every round that spent time on speculation
/// is booked: the time that its extra tokens saved, less what it took. A round may be tried while the
/// balance, less what the round risks, stays above a credit of kCredit plain steps and kShare of the time so
/// far; so a generation loses no more than that. Gains are kept up to a limit only: what went well a thousand
/// tokens ago is no reason to lose time now.
class Ledger {
 public:
  static constexpr double kCredit = 3.0;
  static constexpr double kShare = 0.003;
  static constexpr double kMostSaved = 12;  ///< plain steps

  /// Whether a round may be tried that costs `risk_ms` if nothing of it is accepted.
  bool allows(double risk_ms, double plain_ms) const {
    return balance_ms_ - risk_ms >= -(kCredit * plain_ms + kShare * elapsed_ms_);
  }
  void book(double saved_ms, double plain_ms) {
    balance_ms_ = std::min(balance_ms_ + saved_ms, kMostSaved * plain_ms);
  }
  void pass(double ms) { elapsed_ms_ += ms; }

  double balance_ms() const { return balance_ms_; }
  double elapsed_ms() const { return elapsed_ms_; }

 private:
  double balance_ms_ = 0;
  double elapsed_ms_ = 0;
};

}  // namespace augur
