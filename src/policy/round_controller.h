#pragma once
#include <cstddef>
#include <span>

#include "policy/policy.h"
#include "policy/step_trace.h"

namespace augur {

/// What a controller keeps of one sequence from round to round. Made with the sequence's policies.
class ControlledText {
 public:
  virtual ~ControlledText() = default;
};

/// One sequence of a batch, as its controller sees it in a round.
struct RoundMember {
  ControlledText* text = nullptr;
  RoundInfo info;                    ///< holds no drafter
  bool sampled = false;              ///< drafters with a law draw their candidates (ProposalLaw)
  std::size_t drafter = 0;           ///< plan(): which of the sequence's drafters is asked about
  DraftTree* tree = nullptr;         ///< plan(): that drafter's; cut(): all drafts merged
  const StepTrace* trace = nullptr;  ///< observe(): what came of it
  StepForecast forecast;             ///< filled by cut()
};

/// Decides for a batch as a whole, where policies see one drafter of one sequence each: who drafts, how far,
/// and which nodes of all trees are verified. Shared by the sequences whose policies it was made with; a
/// decoding step hands it those of them that are in the batch, in the same order in all calls of a round. One
/// thread at a time. Per round:
///   begin; for every turn of the batch's drafters and every level, before the policies' next_frontier: plan;
///   when all drafts are merged: cut; then, after verification: observe, without sequences that have failed.
/// What it throws ends all of its sequences in the batch; the next round, with others, begins anew.
class RoundController {
 public:
  virtual ~RoundController() = default;

  /// `other_rows`: rows of the batch's sequences that are not among `members`, as far as is known.
  virtual void begin(std::span<RoundMember* const> members, int other_rows) = 0;
  /// One drafter of each of `growing`, a part of the members, is about to expand a level (0: its root): of
  /// all the same, though not always at the same place in its sequence.
  virtual void plan(int level, std::span<RoundMember* const> growing) = 0;
  /// Keeps of every merged tree, which may be the root alone, what is to be verified, and says what to
  /// expect.
  virtual void cut(std::span<RoundMember* const> members) = 0;
  virtual void observe(std::span<RoundMember* const> members) = 0;
};

}  // namespace augur
