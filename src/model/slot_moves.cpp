#include "model/slot_moves.h"

#include <algorithm>
#include <vector>

namespace augur {

void move_slots(const KvLayerView& layer, std::int64_t base, std::span<const std::int32_t> path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto to = static_cast<std::int64_t>(i);
    if (path[i] != to) kv_move(layer, base + path[i], base + to);
  }
}

void move_slots(const SlotRows& layer, std::int64_t base, std::span<const std::int32_t> path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto to = static_cast<std::int64_t>(i);
    if (path[i] != to) std::copy_n(layer.row(base + path[i]), layer.floats, layer.row(base + to));
  }
}

void clear_slots(const KvLayerView& layer, Range slots) {
  const std::vector<float> zeros(static_cast<std::size_t>(layer.head_dim));
  for (int head = 0; head < layer.kv_heads; ++head) {
    for (std::int64_t slot = slots.begin; slot < slots.end; ++slot)
      kv_store(layer, head, slot, zeros.data(), zeros.data());
  }
}

void clear_slots(const SlotRows& layer, Range slots) {
  for (std::int64_t slot = slots.begin; slot < slots.end; ++slot) {
    const std::int64_t page = slot / layer.page_slots;
    if (page < layer.page_count && layer.pages[page] != nullptr)
      std::fill_n(layer.row(slot), layer.floats, 0.0f);
  }
}

}  // namespace augur
