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
  /// Most nodes besides the root that can be verified. If a tree has more after prune(), the nodes that were
  /// added last are dropped, whatever their scores.
  int room = 0;
  int max_depth = 0;    ///< deeper nodes are dropped, too: the text ends before them
  int reading = 0;      ///< sequences whose prompts are being read and that will decode in the same batch
  int prompt_rows = 0;  ///< rows of these prompts that will run in this step, as far as is known
  /// Promised milliseconds per token; 0: nothing is promised.
  double tpot_ms = 0;
  double late_ms = 0;  ///< lateness of the text's newest token against the promise; negative: early
  DrafterTraits drafter;
  int behind = 1;  ///< rows of the text that this drafter has not run yet and that its first level runs
  /// The costs of the target on this machine, kept up to date (cost/cost.h), and this drafter's part of them.
  /// Never null inside a decoding step.
  const CostModel* costs = nullptr;
  const DraftCosts* draft_costs = nullptr;
  const Clock* clock = &Clock::steady();  ///< measures the policy's own time; outlives the round

  /// Number of levels that are useful and that the drafter can draft. A one-shot drafter drafts all of them
  /// in its first level.
  int most_levels() const {
    return std::max(0, std::min({max_depth, drafter.max_depth, drafter.one_shot ? 1 : max_depth}));
  }
};

/// Decides the shape of the draft tree: which nodes get children, when to stop, what is verified. One object
/// per sequence; for one thread at a time. Per round:
///   begin; { next_frontier -> the drafter adds up to width() children to every node of the frontier }
///   until the frontier is empty; prune; forecast; then, after verification, observe.
/// If there is no room, or if drafting in a batch failed, observe follows begin directly. A round whose step
/// failed and is repeated is not observed; abandoned() is called before the next begin instead. The output
/// does not depend on the policy, with one restriction: where the tree's law is Sampled, prune() may drop
/// nodes by what was known before they were drawn, never by which token was drawn.
class TreePolicy {
 public:
  virtual ~TreePolicy() = default;

  /// What the drafter must record about expanded nodes for this policy. Asked before begin(); the same in
  /// every round.
  virtual NodeWants wants() const { return {}; }
  virtual void begin(const RoundInfo& round) = 0;
  /// The nodes to expand next, none expanded before; empty: drafting is over. The first frontier is the
  /// root, or empty.
  virtual void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) = 0;
  /// Number of children wanted for every node of the last frontier (for one-shot drafters: tokens of a
  /// branch).
  virtual int width() const = 0;
  /// Drafters with a confidence of their own add no children to a node whose confidence is below this value.
  virtual double least_confidence() const { return 0.0; }
  /// Whether children after a node's first are of any use.
  virtual bool branches() const { return true; }
  virtual void prune(DraftTree& tree) = 0;
  /// What the policy expects of the round, and a name for what it chose; for logs and reports. With several
  /// drafters and no controller, the first policy that says something counts.
  virtual StepForecast forecast() const { return {}; }
  /// Milliseconds of this round's drafting that went into rating the tree with a trained part (bins, a
  /// classifier, a head); 0 without such a part.
  virtual double classify_ms() const { return 0; }
  virtual void observe(const StepTrace&) {}
  virtual void abandoned() {}
};

}  // namespace augur
