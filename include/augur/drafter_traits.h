#pragma once
#include <limits>

namespace augur {
inline namespace abi1 {

/// What policies may count on about the drafter they steer.
struct DrafterTraits {
  /// Asked for the root, it adds whole branches (look-ups, block drafters); there are no further levels.
  bool one_shot = false;
  /// What it then adds can be a tree rather than one branch.
  bool branching = false;
  /// Its log-probabilities are a model's, and children can be sampled from that law; otherwise they are
  /// guesses, or 0.
  bool has_probabilities = true;
  /// It foretells acceptance apart from its probabilities, and stops by what a policy sets as the least.
  bool has_confidence = false;
  /// What it knows grows with the sequence, or with those before it: that it had nothing to say, or nothing
  /// right, says little about later.
  bool learns = false;
  /// Sequences leave something behind that later ones of the same owner draft from, so that two runs of one
  /// request may draft differently. Engine::forget() drops it.
  bool learns_across_sequences = false;
  int max_depth = std::numeric_limits<int>::max();  ///< levels that it can draft at all

  /// It knows one branch at a time, so that all it can draft is a chain.
  bool one_branch() const { return one_shot && !branching; }
};

}  // namespace abi1
}  // namespace augur
