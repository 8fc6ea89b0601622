#pragma once
#include <algorithm>

namespace augur {

/// Keeps speculation from becoming slower than plain decoding. Every round that spent time on it is booked:
/// the time that its extra tokens saved, less what it took. A round may be tried while the balance, less what
/// the round risks, stays above a credit; kShare of the time that passes is added to the balance, so that
/// there is always something to probe with. What is booked is lost at most: the credit and that share. The
/// balance is kept up to a limit only: what went well a thousand tokens ago is no reason to lose time now.
///
/// A text has a ledger, and so has the series of all texts of an engine: a text's debt is the next one's.
class Ledger {
 public:
  static constexpr double kCredit = 2.5;       ///< plain steps, for what is believed to pay
  static constexpr double kProbeCredit = 0.6;  ///< for trying what is not
  static constexpr double kShare = 0.005;
  static constexpr double kMostSaved = 12;  ///< plain steps
  static constexpr double kRounds = 4;      ///< of bad luck in a row, at first

  /// What may still be lost, with a credit of so many plain steps.
  double left_ms(double plain_ms, double credit = kCredit) const { return balance_ms_ + credit * plain_ms; }
  void book(double saved_ms, double plain_ms) {
    balance_ms_ = std::min(balance_ms_ + saved_ms, kMostSaved * plain_ms);
  }
  void pass(double ms, double plain_ms) { book(kShare * ms, plain_ms); }

 private:
  double balance_ms_ = 0;
};

}  // namespace augur
