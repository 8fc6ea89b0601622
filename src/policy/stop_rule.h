#pragma once
#include <cstdint>

#include "policy/step_trace.h"
#include "tree/draft_tree.h"
#include "tree/node_wants.h"

namespace augur {

/// Decides when drafting should end: a threshold on what the drafter itself reports about its tokens. One
/// object per drafter of a sequence; for one thread at a time.
class StopRule {
 public:
  virtual ~StopRule() = default;

  virtual NodeWants wants() const { return {}; }
  /// Whether the node (not the root) is good enough to be verified and to be expanded.
  virtual bool passes(const DraftTree& tree, std::int32_t node) const = 0;
  /// Whether passes() gives the same answer for all children of a node, whatever their tokens. Then a drawn
  /// child may be dropped without changing the distribution that it was drawn from.
  virtual bool blind_to_token() const { return false; }
  /// Whether the first token of a chain that does not pass is still verified, as the last one.
  virtual bool keeps_last() const { return false; }
  virtual void observe(const StepTrace&) {}
};

}  // namespace augur
