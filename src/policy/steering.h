#pragma once
#include <memory>

#include "policy/round_controller.h"

namespace augur {

/// What steers the drafters of one sequence together, in addition to each one's own policy.
struct Steering {
  std::shared_ptr<RoundController>
      controller;  ///< null: the merged tree keeps its nodes with the best scores
  std::unique_ptr<ControlledSequence> sequence;  ///< the controller's state for the sequence
  /// Most nodes besides the root in the merged tree; those with the best scores stay. 0: no limit.
  int tree_nodes = 0;
};

}  // namespace augur
