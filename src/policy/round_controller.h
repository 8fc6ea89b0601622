#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy.h"
#include "policy/step_trace.h"

namespace augur {

/// What a controller keeps of one sequence from round to round. Made with the sequence's policies.
class ControlledSequence {
 public:
  virtual ~ControlledSequence() = default;
};

/// One sequence of a batch, as its controller sees it in a round.
struct RoundMember {
  ControlledSequence* sequence = nullptr;
  RoundInfo info;                    ///< holds no drafter
  std::vector<RoundInfo> drafters;   ///< the same with each of the sequence's drafters
  bool sampled = false;              ///< drafters with a law draw their candidates (ProposalLaw)
  std::size_t drafter = 0;           ///< plan(), drafted(): which of the sequence's drafters is meant
  DraftTree* tree = nullptr;         ///< plan(), drafted(): that drafter's; cut(): all drafts merged
  const StepTrace* trace = nullptr;  ///< observe(): what came of it

  // What the controller answers:
  /// plan(): the nodes that the drafter expands next, none expanded before; empty: it has finished. At level
  /// 0 the root, or empty. And as TreePolicy::width().
  std::vector<std::int32_t> frontier;
  int width = 0;
  /// cut(): the nodes to verify, rising, the root and their parents among them; empty: all.
  std::vector<std::int32_t> kept;
  StepForecast forecast;  ///< cut()
};

/// Decides for a batch as a whole, where policies see one drafter of one sequence each: who drafts, how far,
/// and which nodes of all trees are verified. Shared by the sequences whose policies it was made with; a
/// decoding step hands it those of them that are in the batch, in the same order in all calls of a round. One
/// thread at a time. Per round:
///   begin; for every turn of the batch's drafters: for every level plan, and in the end drafted; when all
///   drafts are merged: cut; then, after verification: observe, without sequences that have failed.
/// A drafter that has a policy of its own drafts and prunes as that one says, whatever plan answers.
/// What it throws ends all of its sequences in the batch; the next round, with others, begins anew.
class RoundController {
 public:
  virtual ~RoundController() = default;

  /// `other_rows`: what the batch's sequences that are not among `members` verified in their last rounds.
  virtual void begin(std::span<RoundMember* const> members, int other_rows) = 0;
  /// One drafter of each of `growing`, a part of the members, may expand a level (0: its root): of all the
  /// same, though not always at the same place in its sequence. Fills their frontiers.
  virtual void plan(int level, std::span<RoundMember* const> growing) = 0;
  /// These drafters have finished. Of a tree without policy the nodes with the largest scores stay,
  /// RoundInfo::room of them; scores are the drafters' own unless they are set here.
  virtual void drafted(std::span<RoundMember* const>) {}
  /// Says what of every merged tree, which may be the root alone, is to be verified, and what to expect.
  virtual void cut(std::span<RoundMember* const> members) = 0;
  virtual void observe(std::span<RoundMember* const> members) = 0;
};

}  // namespace augur
