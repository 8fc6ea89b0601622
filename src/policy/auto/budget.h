#pragma once
#include <algorithm>

namespace augur {

/// Keeps what is tried from making speculation slower than plain decoding: one ledger of what rounds with
/// drafts have won and lost, in plain steps of the moment (what a slow moment of the machine has cost is no
/// debt of seconds later). Time that passes adds a small share of itself, so that there is always something
/// to try with. What pays even at the pessimistic end of what is believed is not asked for its price; who
/// else would overdraw the ledger decodes plainly.
class Budget {
 public:
  // In plain steps:
  static constexpr double kCredit = 2.5;  ///< at the beginning: some rounds of a draft that fails
  /// Of what was won: that a thousand tokens went well is no reason to lose time now.
  static constexpr double kMostKept = 2 * kCredit;
  static constexpr double kMostInvested = 4 * kCredit;  ///< at a time: of a usual prompt, or two
  /// Of the time, for each of what has to be found out: drafters (half of the 1% that adversarial text may
  /// cost), plain steps, what a drafter says that learns.
  static constexpr double kShare = 0.004;

  /// Whether so many plain steps may be risked in a round: half of what there is, so that no row of bad luck
  /// ends it.
  bool affords(double steps) const { return 2 * steps <= balance_; }
  /// Whether so many steps may be spent on what only pays later, and is hoped to win `back`: a long text can
  /// bear more than a short one, but for what has yet to be won back; less than a step of it is nothing.
  bool bears(double steps, double back) const {
    return invested_ + steps <= (invested_ < 1 ? std::max(kMostInvested, back) : kMostInvested);
  }
  void invest(double steps) { invested_ += std::max(0.0, steps); }

  /// A round that speculated: what its tokens were worth, less what it took, in plain steps.
  void book(double won) {
    invested_ = std::max(0.0, invested_ - std::max(0.0, won));
    // What surely pays was not asked for its price, and what only may pay does not owe for it: a text in
    // which that was wrong has to be able to try something else.
    balance_ = std::clamp(balance_ + won, 0.0, kMostKept);
  }
  /// A round goes by that took so many plain steps.
  void pass(double steps) {
    balance_ = std::min(kMostKept, balance_ + kShare * steps);
    invested_ = std::max(0.0, invested_ - kShare * steps);
  }

 private:
  double balance_ = kCredit;
  double invested_ = 0;
};

}  // namespace augur
