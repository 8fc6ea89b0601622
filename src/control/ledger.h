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
  static constexpr double kCredit = 2.5;
  static constexpr double kShare = 0.005;
  static constexpr double kMostSaved = 12;  ///< plain steps
  static constexpr double kRounds = 4;      ///< of bad luck in a row, at first

  /// What may still be lost.
  double left_ms(double plain_ms) const { return balance_ms_ + kCredit * plain_ms + kShare * elapsed_ms_; }
  /// Whether a round may be tried that costs `risk_ms` if nothing of it is accepted.
  bool allows(double risk_ms, double plain_ms) const { return left_ms(plain_ms) >= risk_ms; }
  /// What one round should risk at most: a share of what is left, so that no row of bad luck uses it up.
  double stake_ms(double plain_ms) const { return left_ms(plain_ms) / kRounds; }
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
