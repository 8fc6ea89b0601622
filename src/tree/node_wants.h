#pragma once

namespace augur {

/// Largest probabilities that a node's entropy is taken over; what lies beyond changes nothing (C2T's
/// appendix C) and would cost a pass over the vocabulary.
inline constexpr int kEntropyTop = 1000;

/// What is to be recorded in the tree about every node that a drafter expands, beside its children. Costs
/// time, so it is asked for: by the policy that steers the drafter, or by whoever records traces.
struct NodeWants {
  /// Entropy in nats of the drafter's distribution after the node, over its kEntropyTop largest
  /// probabilities, renormalised (DraftTree::entropies).
  bool entropy = false;
  /// > 0: the same over so many only (DraftTree::top_entropies).
  int top_k = 0;
  /// The drafter's own hidden state at the node (DraftTree::hidden).
  bool hidden = false;

  /// What both want; where both name a top_k, the first's.
  friend NodeWants operator|(const NodeWants& a, const NodeWants& b) {
    return {a.entropy || b.entropy, a.top_k > 0 ? a.top_k : b.top_k, a.hidden || b.hidden};
  }
};

}  // namespace augur
