#pragma once
#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "kernels/attention.h"
#include "model/kv_cache.h"

namespace augur {

// DeviceMemory::move_slots() and clear_slots() of one layer, for those that may follow its addresses.

void move_slots(const KvLayerView& layer, std::int64_t base, std::span<const std::int32_t> path);
void move_slots(const SlotRows& layer, std::int64_t base, std::span<const std::int32_t> path);
void clear_slots(const KvLayerView& layer, Range slots);
void clear_slots(const SlotRows& layer, Range slots);

}  // namespace augur
