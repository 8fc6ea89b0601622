#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "tree/draft_tree.h"
#include "tree/node_wants.h"

namespace augur {

/// Something that knows more about a drafted node than the drafter's probability of it: a classifier, a head,
/// the entropy of the draft. What it says need not be a probability: it is calibrated (ScoreChoice), and used
/// only where it foretells acceptance better than the drafter's own. Shared by the sequences of an engine,
/// one thread at a time.
class NodeScore {
 public:
  virtual ~NodeScore() = default;

  virtual std::string_view name() const = 0;
  virtual NodeWants wants() const { return {}; }

  struct Reading {
    /// About log a(v), a(v) being the probability that the node is accepted given that its parent was; NaN:
    /// nothing is known of this node (yet).
    double log_prob = std::numeric_limits<double>::quiet_NaN();
    /// Nodes of different strata are calibrated apart. From 0, less than strata().
    int stratum = 0;

    bool known() const { return !std::isnan(log_prob); }
  };
  virtual int strata() const { return 1; }
  /// Asked when the node has been added, and again when it has been expanded. Costs time for every candidate:
  /// some microseconds at most.
  virtual Reading read(const DraftTree& tree, std::int32_t node) = 0;
};

}  // namespace augur
