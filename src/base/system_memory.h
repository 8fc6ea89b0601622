#pragma once
#include <cstdint>

namespace augur {

/// Bytes of memory that this process may take without anything being swapped: what Linux says is available,
/// and the limit of the process's control group (containers) leaves. 0: not known.
std::int64_t available_memory();

}  // namespace augur
