#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tree/step_trace.h"

namespace augur {

/// A StepTrace that owns what it shows.
struct StepRecord {
  std::vector<TokenId> tokens;  ///< of the tree, by node, the root first
  std::vector<std::int32_t> parents;
  std::vector<float> log_probs;
  std::vector<ProposerId> proposers;  ///< who was first
  std::vector<ProposerSet> proposer_sets;
  std::vector<std::int32_t> path;
  TokenId next = -1;
  std::int32_t drafted = 0;
  std::int32_t batch_rows = 0;
  std::int64_t context = 0;
  double draft_ms = 0;
  double verify_ms = 0;
  double other_ms = 0;
  StepForecast forecast;

  void assign(const StepTrace& trace);
};

/// Keeps the last `capacity` rounds. Old records' memory is reused.
class TraceRing {
 public:
  explicit TraceRing(std::size_t capacity) : records_(capacity) {}

  void push(const StepTrace& trace);
  std::size_t size() const { return count_ < records_.size() ? count_ : records_.size(); }
  std::size_t total() const { return count_; }  ///< rounds ever pushed
  /// Oldest first, i < size().
  const StepRecord& operator[](std::size_t i) const;

 private:
  std::vector<StepRecord> records_;
  std::size_t count_ = 0;
};

}  // namespace augur
