#pragma once
#include "augur/engine.h"

namespace augur::cli {

/// Prints what a model and its drafters cost on this machine. `anew`: measures whatever the cache says.
int inspect_costs(const EngineOptions& options, bool anew, bool json);

}  // namespace augur::cli
