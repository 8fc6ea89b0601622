#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "lab/suite/method.h"
#include "lab/suite/prompt_set.h"
#include "lab/suite/round_log.h"
#include "lab/suite/state_file.h"
#include "lab/suite/workbench.h"

namespace augur {

struct SuiteRunOptions {
  SuiteRequest request;
  int rounds = 1;      ///< repetitions of every prompt with every method
  int seeds = 1;       ///< texts of every prompt: with the request's seed and those that follow it
  double minutes = 0;  ///< no new cell is begun after so long; 0: no limit
  std::string default_draft_model;
  RoundLog* log = nullptr;  ///< sees every round of every cell of this run
  const std::atomic<bool>* cancel = nullptr;
};

/// What a run did.
struct SuiteRunReport {
  int done = 0;  ///< cells that the state holds of those planned
  int planned = 0;
  int fresh = 0;             ///< cells of this run
  double cells_ms = 0;       ///< their wall time, all that the harness does for them included
  double generation_ms = 0;  ///< of that, inside the decoder

  bool complete() const { return done == planned; }
  /// Share of the time that is the harness's own; 0 when nothing was run.
  double overhead() const { return cells_ms > 0 ? 1 - generation_ms / cells_ms : 0; }
};

struct SuiteProgress {
  int done = 0;             ///< cells, those of earlier runs included
  int planned = 0;          ///< in all
  double seconds_left = 0;  ///< by what this run's cells took
  std::string suite;
};

/// Runs every cell that the state does not hold yet. Per round, seed and prompt all methods follow one
/// another, in rotating order, so that a machine whose speed drifts treats them alike. A method's first run
/// in a process is not counted. What a method learns from texts does not outlive a prompt, of one that keeps
/// it a round: such a method runs a pass over the prompts whole or not at all, as what it does depends on the
/// prompts before.
SuiteRunReport run_suites(Workbench& bench, const std::vector<PromptSet>& sets,
                          const std::vector<Method>& methods, const SuiteRunOptions& options,
                          StateFile& state, const std::function<void(const SuiteProgress&)>& progress = {});

}  // namespace augur
