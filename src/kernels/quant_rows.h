#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace augur {

/// 32 values of a row that meets quantised weights: x[i] ~ scale * q[i]. Beside them stand what the integer
/// products want to know of the whole block, so that they need not sum it up again.
///
/// Law: with a = max |x|, scale = a / 127 and q = x * (127 / a) rounded to nearest even; scale and q are 0
/// where a < 2^-100. In a block that has an infinity or a NaN, q is 0 and scale a NaN, which the products
/// carry on. A block depends on its own values only, never on other rows or blocks.
struct QuantBlock {
  static constexpr int kElements = 32;

  std::int8_t q[kElements];  ///< -127 .. 127
  float scale;
  float scaled_sum;         ///< scale * (sum of q), what a constant added to every weight contributes
  std::int32_t offset;      ///< -128 * (sum of q): undoes weights that are stored with 128 added
  std::int32_t offset_low;  ///< the same of the first 16 alone
};
static_assert(sizeof(QuantBlock) == 48);

/// Bytes of `elements` neighbouring values of a row that a product reads, in the type the product wants:
/// F32, BF16, or for every quantised weight Q8_0, which stands for QuantBlock here. Whole blocks.
constexpr std::int64_t row_bytes(DType type, std::int64_t elements) {
  switch (type) {
    case DType::F32:
      return 4 * elements;
    case DType::BF16:
      return 2 * elements;
    default:
      return (elements + QuantBlock::kElements - 1) / QuantBlock::kElements *
             static_cast<std::int64_t>(sizeof(QuantBlock));
  }
}

/// The block law above in plain C++: what every vector variant is compared with. out[ceil(n / 32)]; a last
/// block that n does not fill has zeros.
void quantize_row_reference(const float* x, std::int64_t n, QuantBlock* out);

}  // namespace augur
