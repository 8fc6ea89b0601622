#pragma once
#include <functional>
#include <memory>

#include "cost/cost_probe.h"
#include "draft/drafter.h"
#include "model/model.h"

namespace augur {

/// Milliseconds that a plain step takes in addition to its forward: the minimum of several (OverheadProbe).
double time_overhead(Model& target, const Clock& clock);

/// Measures drafting on generated texts. `make` gives a drafter for a text of `context` tokens; it and
/// `target` must outlive the result.
DraftProbe time_drafts(Model& target, std::function<std::unique_ptr<Drafter>(std::int64_t context)> make);

}  // namespace augur
