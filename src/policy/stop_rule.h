#pragma once
#include <cstdint>

#include "policy/step_trace.h"
#include "tree/draft_tree.h"
#include "tree/node_wants.h"

namespace augur {

/// When drafting should end: a threshold on what the drafter itself says about its tokens. One per drafter
/// of a sequence, one thread at a time.
class StopRule {
 public:
  virtual ~StopRule() = default;

  virtual NodeWants wants() const { return {}; }
  /// Whether the node (not the root) is sure enough to be verified and to be drafted on from.
  virtual bool passes(const DraftTree& tree, std::int32_t node) const = 0;
  /// passes() is the same for all children of a node, whichever tokens they are: then a drawn child may be
  /// dropped by it without changing the law that it was drawn from.
  virtual bool blind_to_token() const { return false; }
  /// The first token of a chain that does not pass is verified all the same, as the last one.
  virtual bool keeps_last() const { return false; }
  virtual void observe(const StepTrace&) {}
};

}  // namespace augur
