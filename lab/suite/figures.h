#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "augur/engine.h"
#include "lab/suite/bootstrap.h"
#include "lab/suite/forecasts.h"
#include "lab/suite/prompt_set.h"
#include "lab/suite/state_file.h"

namespace augur {

/// Spread of a figure that has several values.
struct Spread {
  double low = 0;  ///< the least
  double middle = 0;
  double high = 0;
};
Spread spread_of(std::vector<double> values);  ///< zeros when there are none

/// One method over one suite. A rate is the mean over prompts of (tokens / time), as Spec-Bench has it; with
/// several rounds, a text's is the median over them; with several seeds, a prompt's is the mean over its
/// texts.
struct MethodFigures {
  double tokens_per_second = 0;       ///< generation alone
  double with_prompt_per_second = 0;  ///< time of the prompt included
  double speedup = 0;                 ///< over the first method
  double speedup_with_prompt = 0;
  /// Mean over prompts of the rate over that of the prompt's fastest method: 1 for who knew it in advance.
  double share_of_best = 0;
  std::vector<double> round_speedups;        ///< by round, 0: not run with every prompt
  Spread by_round;                           ///< of those
  Spread by_prompt;                          ///< the speedup of single prompts
  std::string slowest_id;                    ///< prompt with the least speedup
  std::optional<Interval> speedup_interval;  ///< of `speedup`, with other prompts; none: one text
  std::optional<Interval> tau_interval;      ///< of tau()
  int different = 0;                         ///< prompts whose ids are not the first method's
  std::int64_t tokens = 0;                   ///< of all rounds
  SpeculationStatistics sum;                 ///< over the prompts and all their rounds
  Forecasts forecasts;                       ///< over the same

  /// Tokens a call, the target's own included.
  double tau() const {
    return sum.calls > 0 ? static_cast<double>(tokens) / static_cast<double>(sum.calls) : 0;
  }
};

struct SuiteFigures {
  std::string suite;
  int prompts = 0;  ///< that all methods have run
  int planned = 0;
  std::vector<MethodFigures> methods;
  Resamples resamples = {};  ///< of the methods
};

/// Figures of what the state holds, of `rounds` rounds with each of `seeds` seeds; texts that some method has
/// not run yet are left out. `keys` are the methods' (method_key); the first method is what the others are
/// compared with.
SuiteFigures suite_figures(const PromptSet& set, const std::vector<std::string>& keys, int rounds,
                           const StateFile& state, int seeds = 1);

/// Over suites: counts are added, rates and speedups are means of the suites' (each weighs the same), of
/// every round apart. Empty where no suite has a prompt.
std::vector<MethodFigures> overall_figures(const std::vector<SuiteFigures>& suites);

nlohmann::ordered_json to_json(const MethodFigures& figures);

}  // namespace augur
