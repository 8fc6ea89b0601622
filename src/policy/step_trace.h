#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "augur/draft_round.h"
#include "tree/draft_tree.h"

namespace augur {

enum class RoundMode : std::uint8_t {
  Fixed,      ///< no decision was made: the policy always speculates in the same way
  Plain,      ///< speculation was expected not to pay
  Speculate,  ///< speculation was expected to pay
  Probe,      ///< speculation was tried in order to measure it
};

/// What the policy or controller expected of a round.
struct StepForecast {
  /// A policy that chooses among shapes by trying them uses Probe for a trial and Speculate for the shape
  /// that it takes to be best; `choice` has the shape's name.
  RoundMode mode = RoundMode::Fixed;
  double tokens = 0;    ///< the target's own token included; 0: not predicted
  double ms = 0;        ///< the whole round, drafting included
  double price = 0;     ///< tokens per ms that time was valued at
  double plain_ms = 0;  ///< predicted ms per token without speculation
  /// A short name for what was chosen ("tree of 16"); empty: none. Valid until the policy's next round
  /// begins.
  std::string_view choice = {};

  bool says_something() const { return mode != RoundMode::Fixed || tokens > 0 || ms > 0 || !choice.empty(); }
};

/// All data of one round of one sequence. A view: valid during the call that passes it.
struct StepTrace : RoundFigures {
  const DraftTree* tree = nullptr;     ///< as verified
  std::span<const std::int32_t> path;  ///< accepted nodes, the root first
  std::int64_t context = 0;            ///< tokens committed before this round, the root not included
  double classify_ms = 0;              ///< the part of draft_ms that policies spent (TreePolicy::classify_ms)
  /// Milliseconds of the target's whole forward and the verification, for all sequences and prompts of the
  /// step; the time of this round is in RoundFigures.
  double step_ms = 0;
  StepForecast forecast;
};

}  // namespace augur
