#include "engine/memory_check.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "engine/drafters.h"
#include "sampling/position_noise.h"

namespace augur {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

double gib(double bytes) {
  return bytes / (1 << 30);
}

/// Nodes that are verified for one sequence, the root included.
double largest_tree(const SpeculationPlan& plan, const PolicyModel& policy, const TreeBounds& bounds) {
  const auto drafters = std::ssize(drafters_of(plan));
  if (bounds.batch > 0) return static_cast<double>(bounds.batch) + 1;
  if (drafters > 1 && policy.merged_nodes() > 0) return policy.merged_nodes() + 1.0;
  return static_cast<double>(bounds.nodes.count) * static_cast<double>(drafters) + 1;
}

/// `bytes` of what `count` nodes bring, in words.
void check(const TreeBounds::Nodes& bound, double bytes, const std::string& what) {
  if (bytes <= static_cast<double>(kMostBytes)) return;
  throw Error(refused("speculative"), "{}: {} {} take {:.1f} GiB: expected at most {:.0f} GiB", bound.keys,
              bound.count, what, gib(bytes), gib(static_cast<double>(kMostBytes)));
}

}  // namespace

void check_memory(const SpeculationPlan& plan, const PolicyModel& policy, const ModelConfig& target,
                  int sequences) {
  const TreeBounds bounds = policy.bounds();
  const auto vocab = static_cast<double>(target.vocab * kFloat);
  const auto batch = static_cast<double>(sequences);
  const double tree = largest_tree(plan, policy, bounds);
  check(bounds.nodes, tree * vocab, fmt::format("nodes' logits over {} tokens", target.vocab));
  if (plan.verification == Verification::Rejection) {
    check(bounds.expanded, batch * static_cast<double>(bounds.expanded.count) * vocab,
          fmt::format("nodes' distributions over {} tokens in {} sequences", target.vocab, sequences));
  }
  const double rows = bounds.batch > 0 ? batch + tree : batch * tree;
  check(bounds.nodes, rows * static_cast<double>(target.hidden * kFloat),
        fmt::format("nodes' hidden states of {} in {} sequences", target.hidden, sequences));
}

int noise_rows(std::int64_t vocab, int sequences) {
  const std::int64_t of_a_row = vocab * kFloat * sequences;
  return static_cast<int>(std::clamp<std::int64_t>(kMostBytes / of_a_row, 1, PositionNoise::kUsualPositions));
}

}  // namespace augur
