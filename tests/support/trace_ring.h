#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/step_trace.h"

namespace augur::testing_support {

/// A StepTrace that owns what it shows.
struct StepRecord : RoundFigures {
  std::vector<TokenId> tokens;  ///< of the tree, by node, the root first
  std::vector<std::int32_t> parents;
  std::vector<float> log_probs;
  std::vector<ProposerId> proposers;  ///< who was first
  std::vector<std::int32_t> path;
  std::int64_t context = 0;
  StepForecast forecast;

  void assign(const StepTrace& trace) {
    static_cast<RoundFigures&>(*this) = trace;
    const DraftTree& tree = *trace.tree;
    tokens.assign(tree.tokens().begin(), tree.tokens().end());
    parents.assign(tree.parents().begin(), tree.parents().end());
    log_probs.assign(tree.log_probs().begin(), tree.log_probs().end());
    proposers.assign(tree.proposers().begin(), tree.proposers().end());
    path.assign(trace.path.begin(), trace.path.end());
    context = trace.context;
    forecast = trace.forecast;
  }
};

/// Keeps the last `capacity` rounds. Old records' memory is reused.
class TraceRing {
 public:
  explicit TraceRing(std::size_t capacity) : records_(capacity) {}

  void push(const StepTrace& trace) {
    if (records_.empty()) return;
    records_[count_++ % records_.size()].assign(trace);
  }
  std::size_t size() const { return count_ < records_.size() ? count_ : records_.size(); }
  std::size_t total() const { return count_; }  ///< rounds ever pushed
  /// Oldest first, i < size().
  const StepRecord& operator[](std::size_t i) const {
    assert(i < size());
    return records_[(count_ - size() + i) % records_.size()];
  }

 private:
  std::vector<StepRecord> records_;
  std::size_t count_ = 0;
};

}  // namespace augur::testing_support
