#pragma once
#include <cstdint>
#include <string_view>

#include "draft/drafter.h"

namespace augur {

/// Which promise of Drafter::expand() the nodes of the job's tree from `first` on, which it has added, break,
/// in a few words; empty: none. `vocab`: of the target.
std::string_view broken_promise(const ExpandJob& job, const DrafterTraits& traits, std::int32_t first,
                                std::int32_t vocab);

}  // namespace augur
