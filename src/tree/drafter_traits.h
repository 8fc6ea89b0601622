#pragma once
#include <limits>
#include <string>

namespace augur {

/// Rows of a sequence that a drafter runs at once where many wait.
inline constexpr int kSequenceChunk = 256;

/// What policies may count on about the drafter they steer.
struct DrafterTraits {
  /// One expand() at the root adds whole branches (look-ups, block drafters); there are no further levels.
  bool one_shot = false;
  /// Such an expand() can add a tree rather than one branch.
  bool branching = false;
  /// log_prob is a model's, and children can be sampled from that law; otherwise it is a guess, or 0.
  bool has_probabilities = true;
  /// It foretells acceptance apart from its probabilities, and stops by TreePolicy::least_confidence().
  bool has_confidence = false;
  /// What it knows grows with the sequence, or with those before it: that it had nothing to say, or nothing
  /// right, says little about later.
  bool learns = false;
  /// Sequences leave something with its DrafterModel that later ones of the same owner draft from, so that
  /// two runs of one request may draft differently. DrafterModel::forget_learnt() drops it.
  bool learns_across_sequences = false;
  int max_depth = std::numeric_limits<int>::max();  ///< levels that it can draft at all

  /// It knows one branch at a time, so that all it can draft is a chain.
  bool one_branch() const { return one_shot && !branching; }
};

/// What a drafter is known by: to policies, in costs and beliefs, in results.
struct DrafterIdentity {
  std::string name;  ///< of its type, canonical: "eagle3"
  DrafterTraits traits;
};

}  // namespace augur
