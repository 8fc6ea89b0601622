#pragma once
#include <algorithm>
#include <map>
#include <string>

#include "control/calibrator.h"
#include "control/ledger.h"
#include "control/price.h"
#include "control/rank_profile.h"

namespace augur {

/// A running mean that learns quickly at first.
class RunningMean {
 public:
  void observe(double value, double longest) {
    count_ = std::min(count_ + 1, longest);
    mean_ += (value - mean_) / count_;
  }
  /// Believed less from here on: as if it came from `count` values at most.
  void limit(double count) { count_ = std::min(count_, count); }
  double mean() const { return mean_; }
  double count() const { return count_; }

 private:
  double mean_ = 0;
  double count_ = 0;
};

/// What drafting with one drafter has brought.
struct DraftGain {
  RunningMean tokens;  ///< more than without it, per round, over the chance that free drafts leave it
  RunningMean ms;      ///< more than without it, per round, by the cost model
};

/// What is believed about one drafter.
struct DrafterBelief {
  Calibrator calibrator;
  RankProfile profile;        ///< of calibrated acceptance
  RankProfile drawn_profile;  ///< of outcomes: for drawn candidates, whose tokens must not be looked at
  DraftGain gain;
  int probe_interval = 0;  ///< that its probes had come to, in the last text where one was made
};

/// What the sequences of an engine have learned about its drafters. One thread at a time.
struct Beliefs {
  std::map<std::string, DrafterBelief, std::less<>> drafters;
  Agreement agreement;
  Price price;
  Ledger series;  ///< of all texts: what one has lost, later ones may not lose again
};

}  // namespace augur
