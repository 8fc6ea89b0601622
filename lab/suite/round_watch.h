#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "decode/sequence.h"
#include "lab/trace/trace.h"
#include "policy/step_trace.h"

namespace augur {

/// A node of a watched round: what was verified, and what had been proposed and was cut.
struct WatchedNode {
  TokenId token = -1;
  std::int32_t parent = -1;
  float log_prob = 0;  ///< given the parent, by whoever proposed it
  ProposerId proposer = kTargetProposer;
  bool verified = false;
  bool accepted = false;
};

struct WatchedRound : RoundFigures {
  std::vector<WatchedNode> nodes;  ///< the root first, parents before children
  std::int32_t verified = 0;       ///< rows, the root included
  std::int32_t accepted = 0;       ///< nodes beside the root
  StepForecast forecast;           ///< without its choice
  std::string choice;              ///< StepForecast::choice
};

/// Follows the rounds of one sequence: the candidate trees before they are cut, and what became of them.
/// Outlives the sequence it is attached to. Costs time: not for runs whose time counts.
class RoundWatch {
 public:
  /// `entropy_top_k` > 0: record what HeteroSpec's numbers need, where one drafter drafts.
  explicit RoundWatch(int entropy_top_k = 0) : entropy_top_k_(entropy_top_k) {}

  void attach(SequenceOptions& options);

  const std::vector<WatchedRound>& rounds() const { return rounds_; }
  /// By ProposerId, from 1.
  const std::vector<std::string>& proposers() const { return proposers_; }
  /// HeteroSpec's pair of every round (unknown ones included), given the sequence's whole text.
  std::vector<HeteroPair> hetero_pairs(std::vector<TokenId> text) const;

 private:
  void capture(const DraftTree& tree);
  void round(const StepTrace& step);

  int entropy_top_k_;
  std::vector<std::string> proposers_;
  std::vector<DraftTree> candidates_;  ///< of the round in flight, one per drafter
  std::size_t candidates_count_ = 0;
  std::vector<WatchedRound> rounds_;
  std::vector<TraceRound> trace_rounds_;  ///< parallel to rounds_; empty without entropies
};

}  // namespace augur
