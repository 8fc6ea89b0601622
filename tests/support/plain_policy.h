#pragma once
#include <cstdint>
#include <vector>

#include "policy/policy.h"

namespace augur::testing_support {

/// Asks no drafter for anything.
class PlainPolicy final : public TreePolicy {
 public:
  void begin(const RoundInfo&) override {}
  void next_frontier(const DraftTree&, std::vector<std::int32_t>& out) override { out.clear(); }
  int width() const override { return 1; }
  void prune(DraftTree&) override {}
};

}  // namespace augur::testing_support
