#pragma once
#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "kernels/attention.h"
#include "model/kv_cache.h"

namespace augur {

// DeviceMemory::move_slots() and clear_slots(), for those that may follow a cache's addresses.

/// Calls call(KvLayerView) or call(SlotRows) for every layer, by what it keeps.
template <class Call>
void for_layers(const KvCache& cache, const Call& call) {
  for (int layer = 0; layer < cache.shape().layers; ++layer) {
    if (cache.keeps_nothing(layer)) continue;
    if (cache.keeps_state(layer)) {
      call(cache.records(layer));
    } else if (cache.keeps_rows(layer)) {
      call(cache.rows(layer));
    } else {
      call(cache.layer(layer));
    }
  }
}

/// Calls call(SlotRows) for the records of every layer that has some.
template <class Call>
void for_records(const KvCache& cache, const Call& call) {
  for (int layer = 0; layer < cache.shape().layers; ++layer) {
    if (cache.keeps_state(layer)) call(cache.records(layer));
  }
}

void move_slots(const KvLayerView& layer, std::int64_t base, std::span<const std::int32_t> path);
void move_slots(const SlotRows& layer, std::int64_t base, std::span<const std::int32_t> path);
void clear_slots(const KvLayerView& layer, Range slots);
/// Those of pages that are there.
void clear_slots(const SlotRows& layer, Range slots);

}  // namespace augur
