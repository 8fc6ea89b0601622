#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "augur/draft_round.h"
#include "augur/drafter_traits.h"
#include "augur/sampling_options.h"

namespace augur {
inline namespace abi1 {

/// A drafted tree, [nodes]. Node 0 is the root, the newest token of the text; a parent precedes its children.
/// Valid during the call.
struct DraftedTree {
  std::span<const TokenId> tokens;
  std::span<const std::int32_t> parents;    ///< -1: of the root
  std::span<const std::int32_t> depths;     ///< 0: the root's
  std::span<const float> log_probs;         ///< of a node if its parent is right, by its drafter
  std::span<const float> scores;            ///< sum of log_probs along the path
  std::span<const std::uint8_t> proposers;  ///< 0: the root, i: the sequence's i-th drafter, which was first
  /// Entropy in nats of the distribution that a node's children were taken from, NaN where it is not known.
  /// Only for policies with wants_entropies().
  std::span<const float> entropies;
  /// Candidates were drawn (verification by rejection): CustomPolicy::keep() may drop nodes by their places
  /// and by what was known before the draw, but not by which tokens were drawn.
  bool drawn = false;
};

/// Prices on this machine, in ms, as they are measured and followed. Those of a policy without needs_costs
/// are guesses.
class RoundCosts {
 public:
  virtual ~RoundCosts() = default;
  /// The target's forward pass over `rows` rows behind the text of this round, with the check.
  virtual double verify_ms(double rows) const = 0;
  /// A level of the drafter's tree; level 0: `rows` of the text (PolicyRound::behind), others: expanded
  /// nodes.
  virtual double draft_ms(int level, int rows) const = 0;
  virtual double other_ms() const = 0;  ///< of a step
};

/// The circumstances of one round.
struct PolicyRound {
  std::int64_t context = 0;  ///< tokens of the text before the root
  int room = 0;       ///< most nodes besides the root that can be verified; those added last are dropped
  int max_depth = 0;  ///< deeper nodes are dropped, too: the text ends before them
  int levels = 0;     ///< that are useful and that the drafter can draft
  DrafterTraits drafter;
  int behind = 1;                     ///< rows that the drafter's first level runs
  double tpot_ms = 0;                 ///< Request::tpot_ms
  double late_ms = 0;                 ///< lateness of the newest token against it; negative: early
  const RoundCosts* costs = nullptr;  ///< never null; valid until the round's observe()
};

/// What came of a round.
struct VerifiedRound : RoundFigures {
  DraftedTree tree;                        ///< as verified: the trees of all drafters, merged
  std::span<const std::int32_t> accepted;  ///< nodes, the root first
};

/// Shapes the trees of one drafter of one sequence, written by the engine's user. It cannot change the text,
/// only the speed. Per round: begin; grow until it names no nodes; keep; then, after verification, observe.
/// What it throws, and answers that cannot be (below), end its sequence with an error and no other.
///
/// Threads: as CustomDrafter. A slow policy delays every request of the batch.
class CustomPolicy {
 public:
  virtual ~CustomPolicy() = default;

  /// Whether DraftedTree::entropies are to be computed, which takes time. Asked once.
  virtual bool wants_entropies() const { return false; }
  /// Whether a one-shot drafter may add more than one branch. Asked once.
  virtual bool branches() const { return true; }
  virtual void begin(const PolicyRound& round) = 0;
  /// Adds to `nodes`, which is empty, the nodes that are to get children, none twice in a round: first the
  /// root, or nothing, which ends drafting. Returns the most children of each, at least 1; for a one-shot
  /// drafter, which is asked once, the most tokens. It is not called again if the drafter adds nothing.
  virtual int grow(const DraftedTree& tree, std::vector<std::int32_t>& nodes) = 0;
  /// `nodes` has all nodes of the tree; those that it holds afterwards are verified: with each its parent,
  /// so also the root, and no more than CustomPolicyType::most_nodes besides it.
  virtual void keep(const DraftedTree& /*tree*/, std::vector<std::int32_t>& /*nodes*/) {}
  virtual void observe(const VerifiedRound& /*round*/) {}
  /// In place of observe(), before the next begin(): the step failed and is made again.
  virtual void abandoned() {}
};

/// What a CustomPolicy is made for. Valid during the call.
struct PolicySetup {
  std::string drafter;  ///< as in SpeculationPlan::drafters; "grammar" beside them for a request with one
  DrafterTraits traits;
  std::map<std::string, std::string> settings;  ///< PolicyChoice::settings
};

/// A kind of policy that plans name as "@NAME".
struct CustomPolicyType {
  std::string name;  ///< NAME: letters, digits, '.', '_' and '-'
  /// Makes the policy of one drafter of one sequence. It refuses a drafter or a setting by throwing. The
  /// policies of an engine may share what they like: they are called one at a time.
  std::function<std::unique_ptr<CustomPolicy>(const PolicySetup& setup)> make = {};
  /// Most nodes besides the root that keep() leaves, and that stay of several drafters' merged trees.
  int most_nodes = 63;
  int most_expanded =
      64;  ///< nodes of a tree that grow() names, at most: each stores a distribution if drawn
  bool needs_costs = false;           ///< RoundCosts are measured before it starts
  std::function<void()> forget = {};  ///< called by Engine::forget(); may be empty
};

}  // namespace abi1
}  // namespace augur
