#pragma once
#include "augur/plan.h"
#include "model/config.h"
#include "policy/registry.h"

namespace augur {

/// The most that one thing may take of which the plan says how much there is.
inline constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;

/// Checked before work starts, so that no step fails in the middle: what the plan allows to be held at once
/// for a batch of `sequences`. These are the largest tree's logits, the distributions that drafts are drawn
/// from (under rejection sampling), and the batch's hidden states. Error that names the key of the plan and
/// the bound. `policy` is the plan's.
void check_memory(const SpeculationPlan& plan, const PolicyModel& policy, const ModelConfig& target,
                  int sequences);

/// Positions whose noise each of `sequences` texts may keep, 1 to PositionNoise::kUsualPositions, so that
/// together they take no more than that either. A row of noise has a float for every token of the vocabulary.
int noise_rows(std::int64_t vocab, int sequences);

}  // namespace augur
