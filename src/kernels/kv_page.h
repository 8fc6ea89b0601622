#pragma once
#include <cstdint>

// Included by files that are compiled for newer instruction sets: see cpu/gemm_task.h for what that forbids.

namespace augur {

/// Slots of one page of a cache: a multiple of 16.
constexpr std::int64_t kKvPageSlots = 64;

}  // namespace augur
