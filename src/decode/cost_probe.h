#pragma once
#include <functional>
#include <memory>

#include "base/clock.h"
#include "draft/drafter.h"
#include "model/model.h"
#include "cost/cost.h"

namespace augur {

/// Times the target here and now: forwards of 1 to 128 rows with their logits, behind a short and a longer
/// text, and what a step costs beside them. Repetitions are interleaved, as many as `budget_ms` allows, but
/// never fewer than one of the most telling row counts (a step of a large model takes long). Of a mixture of
/// experts (`costs` says so) also what one more of them takes. A context of a few tokens has no room for
/// that: of such a target only the plain step is timed.
void measure_target(Model& target, CostModel& costs, double budget_ms, const Clock& clock = Clock::steady());

/// Times a drafter as it is used: a text is written with it, whose drafts are as wide as is to be measured.
/// `make` gives one for a text of so many tokens. However small the budget, one draft is timed; nothing is
/// measured in a context of a few tokens.
void measure_drafter(Model& target, const std::function<std::unique_ptr<Drafter>(std::int64_t context)>& make,
                     DraftCosts& costs, double budget_ms, const Clock& clock = Clock::steady());

}  // namespace augur
