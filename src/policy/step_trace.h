#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "augur/draft_round.h"
#include "tree/draft_tree.h"

namespace augur {

enum class RoundMode : std::uint8_t {
  Fixed,      ///< nobody decided: the policy always speculates in the same way
  Plain,      ///< speculation was judged not to pay
  Speculate,  ///< it was judged to pay
  Probe,      ///< it was not, or nobody knows, and was tried to see
};

/// What whoever steered a round expected of it.
struct StepForecast {
  /// A policy that chooses among shapes by trying them calls a trial Probe, what it takes to be best
  /// Speculate, and either by name in `choice`.
  RoundMode mode = RoundMode::Fixed;
  double tokens = 0;    ///< the target's own included; 0: nobody said
  double ms = 0;        ///< the whole round, drafting included
  double price = 0;     ///< tokens that a ms was taken to be worth
  double plain_ms = 0;  ///< what a token was taken to cost without speculation
  /// What was chosen, in a word or two of whoever chose ("tree of 16"); empty: nobody said. Valid until the
  /// policy's next round begins.
  std::string_view choice = {};

  bool says_something() const { return mode != RoundMode::Fixed || tokens > 0 || ms > 0 || !choice.empty(); }
};

/// Everything one round of one sequence knew and did. A view: valid during the call that hands it over.
struct StepTrace : RoundFigures {
  const DraftTree* tree = nullptr;     ///< as verified
  std::span<const std::int32_t> path;  ///< accepted nodes, the root first
  std::int64_t context = 0;            ///< tokens committed before this round, the root not included
  double classify_ms = 0;              ///< of draft_ms, what its policies took (TreePolicy::classify_ms)
  /// Of the target's whole forward and the check of the drafts, all sequences and prompts: not what the round
  /// took (RoundFigures).
  double step_ms = 0;
  StepForecast forecast;
};

}  // namespace augur
