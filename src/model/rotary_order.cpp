#include "model/rotary_order.h"

#include <utility>

#include "model/families.h"

namespace augur {

RotaryOrder rotary_order(const ModelConfig& config) {
  if (!find_family(config.family)->rotates_neighbours) return {};
  const RopeConfig& rope = config.rope();
  return {.head_dim = config.head_dim, .dims = rope.dims > 0 ? rope.dims : config.head_dim};
}

RowReader in_rotary_order(RowReader stored, const RotaryOrder& order, std::int64_t k) {
  if (order.dims == 0) return stored;
  return [stored = std::move(stored), order, k](std::int64_t first, std::int64_t count, float* out) {
    for (std::int64_t i = 0; i < count; ++i) stored(order.stored(first + i), 1, out + i * k);
  };
}

StoredRows in_rotary_order(StoredRows stored, const RotaryOrder& order) {
  if (order.dims == 0) return stored;
  return {stored.type, [row = std::move(stored.row), order](std::int64_t i, std::vector<std::byte>& scratch) {
            return row(order.stored(i), scratch);
          }};
}

}  // namespace augur
