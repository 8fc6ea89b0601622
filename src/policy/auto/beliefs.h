#pragma once
#include <map>
#include <string>

#include "policy/auto/calibrator.h"
#include "policy/auto/cost_check.h"
#include "policy/auto/ledger.h"
#include "policy/auto/price.h"
#include "policy/auto/rank_profile.h"
#include "policy/auto/running_mean.h"
#include "policy/auto/score_choice.h"

namespace augur {

/// What drafting with one drafter has brought.
struct DraftGain {
  RunningMean tokens;  ///< more than without it, per round, over the chance that free drafts leave it
  RunningMean ms;      ///< more than without it, per round, by the cost model
};

/// What is believed about one drafter.
struct DrafterBelief {
  Calibrator calibrator;
  ScoreChoice scores;         ///< of other signals than its own probabilities, where there are any
  RankProfile profile;        ///< of calibrated acceptance
  RankProfile drawn_profile;  ///< of outcomes: for drawn candidates, whose tokens must not be looked at
  DraftGain gain;
  int probe_interval = 0;  ///< that its probes had come to, in the last text where one was made

  /// Outcomes of its candidates, those of earlier processes included as far as they are believed.
  double outcomes() const { return calibrator.outcomes() + drawn_profile.means()[0][0].count; }
  bool seen() const { return outcomes() > 0; }
};

/// What the sequences of an engine have learned about its drafters. One thread at a time.
struct Beliefs {
  std::map<std::string, DrafterBelief, std::less<>> drafters;
  Agreement agreed{0.5};      ///< of nodes that several drafters propose
  Agreement contested{-0.2};  ///< of nodes beside which others propose something else
  Price price;
  CostCheck plain_check{4};
  CostCheck wide_check{24};
  /// Of all texts: what one has lost, later ones may not lose again. Of rounds in which a drafter drafted
  /// that takes time, and of those in which free ones alone proposed: what is lost on the ones says nothing
  /// against the others.
  Ledger paid_series{Ledger::kMostHandedOn};
  Ledger free_series{Ledger::kMostHandedOn};
};

}  // namespace augur
