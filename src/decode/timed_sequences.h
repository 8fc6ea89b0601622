#pragma once
#include <functional>
#include <memory>

#include "cost/cost_probe.h"
#include "draft/drafter.h"
#include "model/model.h"

namespace augur {

/// What a plain step takes beside its forward: the least of some (OverheadProbe).
double time_overhead(Model& target, const Clock& clock);

/// Writes texts with drafters of `make`, which gives one for a text of so many tokens. Both outlive it.
DraftProbe time_drafts(Model& target, std::function<std::unique_ptr<Drafter>(std::int64_t context)> make);

}  // namespace augur
