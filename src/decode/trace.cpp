#include "decode/trace.h"

#include <cassert>

namespace augur {

void StepRecord::assign(const StepTrace& trace) {
  const DraftTree& tree = *trace.tree;
  tokens.assign(tree.tokens().begin(), tree.tokens().end());
  parents.assign(tree.parents().begin(), tree.parents().end());
  log_probs.assign(tree.log_probs().begin(), tree.log_probs().end());
  proposers.assign(tree.proposers().begin(), tree.proposers().end());
  proposer_sets.assign(tree.proposer_sets().begin(), tree.proposer_sets().end());
  path.assign(trace.path.begin(), trace.path.end());
  next = trace.next;
  drafted = trace.drafted;
  batch_rows = trace.batch_rows;
  context = trace.context;
  draft_ms = trace.draft_ms;
  verify_ms = trace.verify_ms;
  other_ms = trace.other_ms;
  forecast = trace.forecast;
}

void TraceRing::push(const StepTrace& trace) {
  if (records_.empty()) return;
  records_[count_++ % records_.size()].assign(trace);
}

const StepRecord& TraceRing::operator[](std::size_t i) const {
  assert(i < size());
  return records_[(count_ - size() + i) % records_.size()];
}

}  // namespace augur
