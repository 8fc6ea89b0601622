#pragma once
#include <algorithm>

namespace augur {

/// Keeps experiments from making speculation slower than plain decoding. A ledger adds up what rounds with
/// drafts have won and lost, in units of the current plain step (so a slow moment of the machine is no debt
/// later). A small share of the time that passes is credited, so that something can always be tried. Drafts
/// that pay even at the lower confidence bound need no budget; other drafts that would overdraw the ledger
/// are not made, and the sequence decodes plainly. For one thread at a time.
class Budget {
 public:
  // In plain steps:
  static constexpr double kCredit = 2.5;  ///< credit at the beginning: some rounds with a draft that fails
  /// Most credit: many successful tokens are no reason to lose time now.
  static constexpr double kMostKept = 2 * kCredit;
  static constexpr double kMostInvested = 4 * kCredit;  ///< most that may be invested at a time: about the
                                                        ///< cost of catching up with one or two usual prompts
  /// Share of the time that is credited for each thing that must be measured: drafters (half of the 1% that
  /// adversarial text may cost), plain steps, and what a drafter that learns proposes.
  static constexpr double kShare = 0.004;

  /// Whether a round may risk `steps` plain steps: at most half of the balance, so that a run of failures
  /// does not exhaust it.
  bool affords(double steps) const { return 2 * steps <= balance_; }
  /// Whether `steps` may be invested in something that pays only later and is expected to win `back`. A long
  /// text may invest more than a short one, less what has yet to be won back; an open investment of less than
  /// one step counts as none.
  bool bears(double steps, double back) const {
    return invested_ + steps <= (invested_ < 1 ? std::max(kMostInvested, back) : kMostInvested);
  }
  void invest(double steps) { invested_ += std::max(0.0, steps); }

  /// Books a round that speculated: `won` is the value of its tokens minus its time, in plain steps.
  void book(double won) {
    invested_ = std::max(0.0, invested_ - std::max(0.0, won));
    // Drafts that were sure to pay did not need the balance, so it does not become negative by their losses:
    // a text in which the prediction was wrong must be able to try something else.
    balance_ = std::clamp(balance_ + won, 0.0, kMostKept);
  }
  /// Records the passing of a round that took `steps` plain steps.
  void pass(double steps) {
    balance_ = std::min(kMostKept, balance_ + kShare * steps);
    invested_ = std::max(0.0, invested_ - kShare * steps);
  }

 private:
  double balance_ = kCredit;
  double invested_ = 0;
};

}  // namespace augur
