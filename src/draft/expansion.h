#pragma once
#include <cstdint>
#include <string_view>

#include "draft/drafter.h"

namespace augur {

/// Checks the nodes from `first` on that Drafter::expand() has added to the job's tree. Returns a short
/// description of the requirement that they violate; empty: none. `vocab`: size of the target's vocabulary.
std::string_view broken_promise(const ExpandJob& job, const DrafterTraits& traits, std::int32_t first,
                                std::int32_t vocab);

}  // namespace augur
