#pragma once
#include <memory>

#include "policy/round_controller.h"

namespace augur {

/// What steers the drafters of one sequence together, beside the policy that each of them has.
struct Steering {
  std::shared_ptr<RoundController> controller;   ///< null: the merged tree keeps its best by score
  std::unique_ptr<ControlledSequence> sequence;  ///< what the controller keeps of the sequence
  /// Nodes beside the root that a merged tree may have: the best by score stay. 0: all.
  int tree_nodes = 0;
};

}  // namespace augur
