#pragma once
#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"
#include "lab/suite/workbench.h"

namespace augur {

// Runs that are looked at rather than timed: first turns, with every round recorded.

/// The rounds of one method over a prompt: {"rounds": [[phi, rank, known, full, accepted, verified], ...]}.
/// phi (HeteroSpec's cumulative meta-path entropy over `entropy_top_k`) is null where several drafters draft
/// or the drafter has no law; rank is the terminal confidence rank, 0 when nothing was accepted. Null when
/// the run was cancelled.
nlohmann::ordered_json watch_rounds(Workbench& bench, const Method& method, const SuitePrompt& prompt,
                                    const SuiteRequest& how, int entropy_top_k,
                                    const std::atomic<bool>* cancel);

/// One text and how it came about: every token with its proposer and depth, every round with its tree
/// (candidates that were cut included, the likeliest first), times and forecast. Null when the run was
/// cancelled.
nlohmann::ordered_json watch_text(Workbench& bench, const Method& method, const SuitePrompt& prompt,
                                  const SuiteRequest& how, const std::atomic<bool>* cancel);

/// What verifying and drafting cost: medians of forward passes by rows, and what the drafters' levels took in
/// the runs so far.
nlohmann::ordered_json measure_costs(Workbench& bench, const std::vector<Method>& methods);

}  // namespace augur
