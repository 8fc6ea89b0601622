#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "policy/step_trace.h"
#include "tree/draft_tree.h"
#include "tree/drafter_traits.h"
#include "tree/node_wants.h"

namespace augur {

class CostModel;
class DraftCosts;

/// The circumstances of one round.
struct RoundInfo {
  std::int64_t context = 0;  ///< tokens committed, the root not included
  /// Nodes beside the root that can be verified at all. Of a tree that has more when prune() is done, the
  /// nodes that were added last are dropped, whatever their scores; nothing else comes of it.
  int room = 0;
  int max_depth = 0;    ///< deeper nodes are useless, as the text would be over: they are dropped, too
  int reading = 0;      ///< sequences that will decode in the same batch: their prompts are being read
  int prompt_rows = 0;  ///< of these prompts, that will run in this step, as far as is known
  /// Promised time per token; 0: nothing is promised.
  double tpot_ms = 0;
  double late_ms = 0;  ///< by which the text's newest token came after it was promised; negative: before
  DrafterTraits drafter;
  int behind = 1;  ///< rows that this drafter's first level runs: of the text, what it has not run yet
  /// The live costs of the target on this machine (cost/cost.h), and this drafter's part of
  /// them. Never null inside a decoding step.
  const CostModel* costs = nullptr;
  const DraftCosts* draft_costs = nullptr;
  const Clock* clock = &Clock::steady();  ///< what a policy times itself by; outlives the round

  /// Levels that are of use and that the drafter can draft. A one-shot drafter's are all in its first.
  int most_levels() const {
    return std::max(0, std::min({max_depth, drafter.max_depth, drafter.one_shot ? 1 : max_depth}));
  }
};

/// Decides the shape of the draft tree: which nodes get children, when to stop, what is verified. One per
/// sequence, one thread at a time. Per round:
///   begin; { next_frontier -> the drafter adds up to width() children to every node of the frontier }
///   until the frontier is empty; prune; forecast; then, after verification, observe.
/// Where there is no room, or what the drafter did failed in a batch, observe follows begin at once. A round
/// that came to nothing (the step failed elsewhere, and is done again) is not observed: abandoned says so,
/// before the next begin. The output does not depend on any of it. One restriction: where the tree's law is
/// Sampled, prune() may drop nodes by what was known before they were drawn, never by which token was drawn.
class TreePolicy {
 public:
  virtual ~TreePolicy() = default;

  /// What the policy reads about expanded nodes. Asked before begin(); the same in every round.
  virtual NodeWants wants() const { return {}; }
  virtual void begin(const RoundInfo& round) = 0;
  /// The nodes to expand next, none expanded before; empty: drafting is over. The first frontier is the
  /// root, or empty.
  virtual void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) = 0;
  /// Children wanted for every node of the last frontier (for one-shot drafters: tokens of a branch).
  virtual int width() const = 0;
  /// Drafters with a confidence of their own add nothing after a node where it is below this.
  virtual double least_confidence() const { return 0.0; }
  /// False: only the first child of any node is of use.
  virtual bool branches() const { return true; }
  virtual void prune(DraftTree& tree) = 0;
  /// What it expects of the round, and what it calls what it chose: for logs and reports. Of several
  /// drafters' policies the first that says something is heard, where no controller does.
  virtual StepForecast forecast() const { return {}; }
  /// What judging the round's tree with a trained part (bins, a classifier, a head) has taken: some of the
  /// time that drafting takes. 0: there is no such part.
  virtual double classify_ms() const { return 0; }
  virtual void observe(const StepTrace&) {}
  virtual void abandoned() {}
};

}  // namespace augur
