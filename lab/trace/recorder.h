#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "decode/sequence.h"
#include "lab/trace/trace.h"
#include "policy/policy.h"

namespace augur {

/// A candidate tree as a round of a trace, without its hidden states and what verification tells.
TraceRound trace_round(const DraftTree& tree);

/// Records the rounds of one sequence: the candidate trees before they are pruned, and their times. Outlives
/// the sequence that it is attached to, which has one speculator. Not thread-safe.
class Recorder {
 public:
  /// `entropy_top_k`: what top_entropies are taken over. `hidden`: keep the hidden states.
  Recorder(int entropy_top_k, bool hidden) : wants_{true, entropy_top_k, hidden} {}

  /// Wraps the speculator's policy and asks for the nodes' features.
  void attach(SequenceOptions& options);
  /// What was recorded, with the sequence's text. Hidden states stay where the text tells whether the node
  /// was right: at nodes whose parents were.
  TraceSequence finish(const Sequence& sequence);

 private:
  void capture(const DraftTree& tree);
  void time(const StepTrace& step);

  NodeWants wants_;
  TraceSequence trace_;
};

}  // namespace augur
