#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draft/drafter.h"
#include "policy/policy.h"
#include "policy/steering.h"
#include "tree/draft_tree.h"

namespace augur {

class PolicyModel;

/// A drafter of a sequence and the policy that shapes its trees.
struct Speculator {
  std::unique_ptr<Drafter> drafter;
  std::unique_ptr<TreePolicy> policy;     ///< null: the sequence's controller steers it
  std::string name = {};                  ///< whose costs its drafting has; empty: the drafter's
  DraftTree tree = {};                    ///< of this round, until it becomes part of the sequence's
  std::span<const int> tap_layers = {};   ///< Drafter::tap_layers(), from when the sequence is made
  std::optional<TargetWants> wants = {};  ///< Drafter::target_wants(), from then, too
  /// When it drafts in a round: in a batch those of one turn do so together. Rising in a sequence, in which
  /// no two have the same; -1: its place in the sequence.
  int turn = -1;
  bool alone = false;  ///< it no longer shares batches: one that it was in has failed
  /// What its drafting is charged to, from the sequence's first round on: an entry of that round's CostModel.
  DraftCosts* costs = nullptr;

  // Of this round.
  int rows = 1;                 ///< Drafter::root_rows(): what its first level runs
  const void* group = nullptr;  ///< Drafter::group(), or itself
  bool aborted = false;         ///< what it has drafted is lost
  bool begun = false;           ///< its policy's last round has yet to be observed

  /// Whose costs its drafting has.
  std::string_view cost_name() const { return name.empty() ? drafter->name() : std::string_view(name); }
};

/// All that drafts for one sequence. It is put together once, by whoever begins the sequence, and moved into
/// it as it is.
struct Speculation {
  /// Each drafts a tree of its own, as if it were alone; these are merged into one. Empty: plain.
  std::vector<Speculator> drafters;
  Steering steering;

  /// Has `policy`, which outlives the sequence, shape the drafters' trees. Error where it cannot.
  void steer_by(PolicyModel& policy);
};

}  // namespace augur
