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

/// A drafter of a sequence and the policy that shapes its trees. For one thread at a time.
struct Speculator {
  std::unique_ptr<Drafter> drafter;
  std::unique_ptr<TreePolicy> policy;  ///< null: the sequence's controller shapes them
  std::string name = {};  ///< the name under which its drafting costs are kept; empty: the drafter's
  DraftTree tree = {};    ///< of this round, until it is merged into the sequence's tree
  std::span<const int> tap_layers = {};   ///< Drafter::tap_layers(), set when the sequence is made
  std::optional<TargetWants> wants = {};  ///< Drafter::target_wants(), set when the sequence is made
  /// Order of drafting in a round; in a batch all drafters with the same turn draft together. Turns rise
  /// within a sequence, without repetition; -1: the place in the sequence.
  int turn = -1;
  /// It is not run together with others, because a batch with it has failed, or from the start.
  bool alone = false;
  /// The entry of the round's CostModel that its drafting is charged to; set in the sequence's first round.
  DraftCosts* costs = nullptr;

  // Of the current round:
  int rows = 1;                 ///< Drafter::root_rows(): rows that its first level runs
  const void* group = nullptr;  ///< Drafter::group(); this object if that is null
  bool aborted = false;         ///< its drafts of this round are lost
  bool begun = false;           ///< its policy has yet to observe the last round

  /// The name under which its drafting costs are kept.
  std::string_view cost_name() const { return name.empty() ? drafter->name() : std::string_view(name); }
};

/// All that drafts for one sequence. Made once, by the code that starts the sequence, and moved into it
/// whole.
struct Speculation {
  /// Each drafts a tree of its own; the trees are merged into one. Empty: plain decoding.
  std::vector<Speculator> drafters;
  Steering steering;

  /// Makes `policy` shape the drafters' trees; it must outlive the sequence. Throws Error if the policy does
  /// not support these drafters.
  void steer_by(PolicyModel& policy);
};

}  // namespace augur
