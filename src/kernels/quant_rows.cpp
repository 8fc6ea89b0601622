#include "kernels/quant_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace augur {

namespace {

QuantBlock quantize(const float* x, std::int64_t n) {
  QuantBlock block = {};
  std::uint32_t largest = 0;  // of the magnitudes' bits: NaN > infinity > any number
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu);
  }
  const float a = std::bit_cast<float>(largest);
  if (largest >= 0x7f800000u) {
    block.scale = block.scaled_sum = std::numeric_limits<float>::quiet_NaN();
    return block;
  }
  if (a < 0x1p-100f) return block;
  const float inverse = 127.0f / a;
  std::int32_t low = 0;
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float rounded = x[i] * inverse + kQuantMagicFloat;  // the integer is in the low bits
    const auto q =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(rounded) - std::uint32_t{kQuantMagic});
    block.q[i] = static_cast<std::int8_t>(q);
    sum += q;
    if (i < 16) low += q;
  }
  block.scale = a / 127.0f;
  block.scaled_sum = block.scale * static_cast<float>(sum);
  block.offset = kQuantMagic - 128 * sum;
  block.offset_low = kQuantMagic - 128 * low;
  return block;
}

}  // namespace

void quantize_row_reference(const float* x, std::int64_t n, QuantBlock* out) {
  for (std::int64_t i = 0; i < n; i += QuantBlock::kElements) {
    *out++ = quantize(x + i, std::min<std::int64_t>(n - i, QuantBlock::kElements));
  }
}

}  // namespace augur
