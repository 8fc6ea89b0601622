#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "model/fingerprint.h"

namespace augur {

/// How traces were recorded; the same for all sequences of a file.
struct TraceHeader {
  Fingerprint target;
  std::string target_name;
  std::string drafter;                ///< its type, and the file it was loaded from
  int top_k = 10;                     ///< candidates of an expanded node, and expanded nodes of a level
  int depth = 8;                      ///< levels drafted
  int size = 60;                      ///< nodes verified, the root included
  int entropy_top_k = 10;             ///< what top_entropies were taken over
  int hidden = 0;                     ///< width of the hidden states; 0: none recorded
  double temperature = 0.0;           ///< of the target's draws
  bool target_probabilities = false;  ///< rounds have target_log_probs
};

/// One round: the whole candidate tree, before pruning, with what the drafter knew about its nodes. Node 0 is
/// the root; scores (sums of log-probabilities) follow from the rest. Arrays are by node.
struct TraceRound {
  std::int32_t root = 0;  ///< place of the root's token in the sequence
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> parents;  ///< -1 for the root; parents precede children
  std::vector<float> log_probs;       ///< given the parent
  std::vector<float> entropies;       ///< of the distribution after the node; NaN: not expanded
  std::vector<float> top_entropies;   ///< over entropy_top_k only; NaN: not expanded
  /// Given the parent, by the target; NaN where the text does not go through the parent. Empty: not recorded.
  std::vector<float> target_log_probs;
  std::vector<std::int32_t> stateful;  ///< ascending: nodes whose hidden state is kept
  std::vector<float> hidden;           ///< [stateful, header.hidden]
  std::int32_t verified = 0;           ///< nodes of the tree that the target ran, the root included
  float draft_ms = 0, verify_ms = 0, other_ms = 0;

  std::size_t size() const { return tokens.size(); }
};

/// A text, and the rounds that made it. Since a round's text does not depend on drafting (verification by the
/// walk), the text says for each candidate, verified or not, whether the target would have taken it.
struct TraceSequence {
  std::int32_t prompt_size = 0;
  std::vector<TokenId> tokens;  ///< prompt and generated
  std::vector<TraceRound> rounds;
};

enum class NodeLabel : std::uint8_t {
  Accepted,  ///< the text goes through it
  Rejected,  ///< it differs from the text, or hangs from a node that does
  Unknown,   ///< the text ends before it
};

/// What the text says about the nodes of a round; the root is Accepted.
void label_nodes(const TraceSequence& sequence, const TraceRound& round, std::vector<NodeLabel>& labels);

/// Sums of log-probabilities along the paths, and depths.
void score_nodes(const TraceRound& round, std::vector<float>& scores, std::vector<std::int32_t>& depths);

/// HeteroSpec's two numbers of a round.
struct HeteroPair {
  /// Cumulative meta-path entropy: the sum of top_entropies along the path, the root included, that ends in
  /// the deepest expanded node whose best child is the surest.
  double entropy = 0;
  /// Terminal confidence rank: place, by score, of the deepest accepted node among the best `size` - 1
  /// candidates; 1 is the best, 0 says that none was accepted.
  int rank = 0;
  int length = 0;  ///< accepted among them
  int levels = 0;  ///< of the candidate tree
  /// The accepted path ended because the candidates did, not because the target disagreed.
  bool fully_accepted = false;
  bool known = false;  ///< false: the tree is the root alone, or the text ended too early to tell
};
HeteroPair hetero_pair(const TraceSequence& sequence, const TraceRound& round, int size);

}  // namespace augur
