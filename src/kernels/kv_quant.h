#pragma once
#include <cstddef>
#include <cstdint>

namespace augur {

/// A head's keys, or values, of 16 slots in 8 bits: a panel. Each slot's vector is quantised in blocks of 32
/// by QuantBlock's law.
///   keys    int8 [head_dim/2][16 slots][2], then float scales [head_dim/32][16 slots]
///   values  int8 [8 pairs of slots][head_dim][2], then the same scales
/// head_dim is a multiple of 32.
constexpr std::int64_t kv_quant_scales_at(std::int64_t head_dim) {
  return 16 * head_dim;
}
constexpr std::int64_t kv_quant_panel_bytes(std::int64_t head_dim) {
  return 16 * head_dim + head_dim / 32 * 16 * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace augur
