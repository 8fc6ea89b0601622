#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy.h"
#include "policy/step_trace.h"

namespace augur {

/// What a controller keeps about one sequence from round to round. Made together with the sequence's
/// policies.
class ControlledSequence {
 public:
  virtual ~ControlledSequence() = default;
};

/// One sequence of a batch, as its controller sees it in a round.
struct RoundMember {
  ControlledSequence* sequence = nullptr;
  RoundInfo info;                    ///< without a drafter
  std::vector<RoundInfo> drafters;   ///< one for each drafter of the sequence
  bool sampled = false;              ///< drafters that have probabilities draw their candidates (ProposalLaw)
  std::size_t drafter = 0;           ///< plan(), drafted(): index of the drafter in question
  DraftTree* tree = nullptr;         ///< plan(), drafted(): that drafter's tree; cut(): the merged tree
  const StepTrace* trace = nullptr;  ///< observe(): the result of the round

  // Set by the controller:
  /// plan(): the nodes that the drafter expands next, none expanded before; empty: it has finished. At level
  /// 0 the root, or empty. `width` is as TreePolicy::width().
  std::vector<std::int32_t> frontier;
  int width = 0;
  /// cut(): the nodes to verify, ascending, with the root and all their parents; empty: all.
  std::vector<std::int32_t> kept;
  StepForecast forecast;  ///< cut()
};

/// Decides for a batch as a whole, while a policy sees one drafter of one sequence: which drafters draft, how
/// far, and which nodes of all trees are verified. It is shared by the sequences whose policies it was made
/// with. A decoding step passes those of them that are in the batch, in the same order in all calls of a
/// round. For one thread at a time. Per round:
///   begin; for every turn of the batch's drafters: plan for every level, and drafted at the end; when all
///   drafts are merged: cut; after verification: observe, without sequences that have failed.
/// A drafter that has a policy of its own drafts and prunes as that policy says, whatever plan() answers. An
/// exception from the controller ends all of its sequences in the batch; the next round starts afresh with
/// others.
class RoundController {
 public:
  virtual ~RoundController() = default;

  /// `other_rows`: rows that the batch's sequences outside `members` verified in their last rounds.
  virtual void begin(std::span<RoundMember* const> members, int other_rows) = 0;
  /// Called when one drafter of each of `growing` (some of the members) may expand a level (0: its root). It
  /// is the same drafter for all, though its index may differ between sequences. Fills their frontiers.
  virtual void plan(int level, std::span<RoundMember* const> growing) = 0;
  /// These drafters have finished. A tree without a policy keeps the RoundInfo::room nodes with the largest
  /// scores; scores are the drafters' own unless they are set here.
  virtual void drafted(std::span<RoundMember* const>) {}
  /// Chooses which nodes of every merged tree (which may be the root alone) are verified, and sets the
  /// forecasts.
  virtual void cut(std::span<RoundMember* const> members) = 0;
  virtual void observe(std::span<RoundMember* const> members) = 0;
};

}  // namespace augur
