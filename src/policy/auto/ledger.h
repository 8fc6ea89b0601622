#pragma once
#include <algorithm>

namespace augur {

/// Keeps speculation from becoming slower than plain decoding. Every round that spent time on it is booked:
/// the time that its extra tokens saved, less what it took. A round may be tried while the balance, less what
/// the round risks, stays above a credit; kShare of the time that passes is added to the balance, so that
/// there is always something to probe with. What is booked is lost at most: the credit and that share. The
/// balance is kept up to a limit only: what went well a thousand tokens ago is no reason to lose time now.
///
/// A text has a ledger, and so has the series of all texts of an engine. A text opens with the series' debt;
/// what the series has gained it does not inherit, as it may be of another kind.
class Ledger {
 public:
  // In plain steps:
  static constexpr double kCredit = 2.0;       ///< for what is believed to pay
  static constexpr double kProbeCredit = 0.6;  ///< for trying what is not
  static constexpr double kMostSaved = 12;     ///< kept in one text
  static constexpr double kMostHandedOn = 3;   ///< kept from text to text
  static constexpr double kMostOwed = 6;       ///< so that all is tried again some day
  static constexpr double kRounds = 4;         ///< of bad luck in a row, at first
  static constexpr double kShare = 0.005;

  explicit Ledger(double most_saved, double opening = 0) : most_saved_(most_saved), balance_(opening) {}

  double balance() const { return balance_; }
  /// What may still be lost, with a credit of so many plain steps.
  double left_ms(double plain_ms, double credit) const { return (balance_ + credit) * plain_ms; }
  void book(double saved_ms, double plain_ms) {
    balance_ = std::clamp(balance_ + saved_ms / plain_ms, -kMostOwed, most_saved_);
  }
  void pass(double ms, double plain_ms) { book(kShare * ms, plain_ms); }

 private:
  // In plain steps of their time: what a slow moment of the machine has cost is no debt of seconds later.
  double most_saved_;
  double balance_;
};

}  // namespace augur
