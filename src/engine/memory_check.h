#pragma once
#include "augur/plan.h"
#include "model/config.h"
#include "policy/registry.h"

namespace augur {

/// The most bytes that each of the quantities checked below may take.
inline constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;

/// To be called before generation starts, so that no step fails for want of memory that the plan allows to be
/// used at once in a batch of `sequences`: the largest tree's logits, the distributions that drafts are drawn
/// from (under rejection sampling), and the batch's hidden states. Throws Error that names the plan's key and
/// the bound. `policy` is the plan's.
void check_memory(const SpeculationPlan& plan, const PolicyModel& policy, const ModelConfig& target,
                  int sequences);

/// The number of positions whose noise each of `sequences` texts may keep, 1 to
/// PositionNoise::kUsualPositions, so that all together take at most kMostBytes. One position's noise is a
/// float for every token of the vocabulary.
int noise_rows(std::int64_t vocab, int sequences);

}  // namespace augur
