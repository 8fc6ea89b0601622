#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "cost/cost.h"
#include "model/model.h"

namespace augur {

// What is timed with a decoder is timed by the module that has one (decode/timed_sequences.h), and handed in
// here.

/// What plain steps take beside their forwards, in ms by the clock.
using OverheadProbe = std::function<double(const Clock& clock)>;

/// One level of a draft.
struct DraftSample {
  int moment = 0;  ///< the round, counted over all texts of a vector of samples
  int level = 0;
  int rows = 0;  ///< as DraftCosts::level_ms() counts them
  double ms = 0;
};

inline constexpr int kProbedLevels = 4;  ///< of a draft
inline constexpr std::array<int, 5> kProbedWidths = {1, 4, 16, 8,
                                                     2};  ///< nodes of its levels, round by round

/// A sequence to be written with a drafter, in at least so many rounds.
struct DraftedSequence {
  std::int64_t prompt = 0;
  int rounds = 0;
};
/// Writes it with a drafter that is new to it, in drafts of kProbedLevels levels of kProbedWidths
/// nodes, and adds a sample for every level. However late, one draft is timed: the prompt alone may have
/// taken all the time of a slow target. Returns false when the clock is past `until_ms`.
using DraftProbe = std::function<bool(const DraftedSequence& sequence, std::vector<DraftSample>& samples,
                                      const Clock& clock, double until_ms)>;

/// Times the target here and now: forwards of 1 to 128 rows with their logits, behind a short and a longer
/// text, and what a step costs beside them. Repetitions are interleaved, as many as `budget_ms` allows, but
/// never fewer than one of the most telling row counts (a step of a large model takes long). Of a mixture of
/// experts (`costs` says so) also what one more of them takes. A context of a few tokens has no room for
/// that: of such a target only the plain step is timed.
void measure_target(Model& target, const OverheadProbe& overhead_ms, CostModel& costs, double budget_ms,
                    const Clock& clock = Clock::steady());

/// Times a drafter as it is used, in texts of a target of so large a context: a text is written with it,
/// whose drafts are as wide as is to be measured. However small the budget, one draft is timed; nothing is
/// measured in a context of a few tokens.
void measure_drafter(std::int64_t context, const DraftProbe& draft, DraftCosts& costs, double budget_ms,
                     const Clock& clock = Clock::steady());

}  // namespace augur
