#pragma once
#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"
#include "lab/suite/state_file.h"
#include "lab/suite/workbench.h"

namespace augur {

// Runs that are looked at rather than timed: first turns, with every round recorded.

struct AnalysisOptions {
  SuiteRequest request;
  int prompts = 2;         ///< of every suite, whose rounds are looked at
  int samples = 1;         ///< suites whose first answer is kept token by token
  int entropy_top_k = 10;  ///< what HeteroSpec's entropies are taken over
  std::string default_draft_model;
  const std::atomic<bool>* cancel = nullptr;
};

/// Looks at what the state does not hold yet, and keeps it there: the rounds of some prompts, the texts of
/// some suites, and what verifying and drafting cost.
void analyse(Workbench& bench, const std::vector<PromptSet>& sets, const std::vector<Method>& methods,
             const AnalysisOptions& options, StateFile& state,
             const std::function<void(double)>& progress = {});

/// The rounds of one method over a prompt: {"rounds": [[phi, rank, known, full, accepted, verified], ...]}.
/// phi (HeteroSpec's cumulative meta-path entropy over `entropy_top_k`) is null where several drafters draft
/// or the drafter has no distribution; rank is the terminal confidence rank, 0 when nothing was accepted.
/// Null when the run was cancelled.
nlohmann::ordered_json watch_rounds(Workbench& bench, const Method& method, const SuitePrompt& prompt,
                                    const SuiteRequest& how, int entropy_top_k,
                                    const std::atomic<bool>* cancel);

/// One text and how it came about: every token with its proposer and depth, every round with its tree
/// (candidates that were cut included, the likeliest first), times and forecast. Null when the run was
/// cancelled.
nlohmann::ordered_json watch_text(Workbench& bench, const Method& method, const SuitePrompt& prompt,
                                  const SuiteRequest& how, const std::atomic<bool>* cancel);

/// What verifying and drafting cost: medians of forward passes by rows, and the levels of those drafters that
/// some policy needed to know the costs of.
nlohmann::ordered_json measure_costs(Workbench& bench, const std::vector<Method>& methods);

}  // namespace augur
