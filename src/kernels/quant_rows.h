#pragma once
#include <cstdint>

#include "kernels/cpu/quant_format.h"
#include "kernels/input_form.h"

namespace augur {

/// 32 values of a row that meets quantised weights: x[i] ~ scale * q[i]. Beside them stand what the integer
/// products want to know of the whole block, so that they need not sum it up again.
///
/// Law: docs/law.md#activation-blocks. A block depends on its own values only, never on other rows or blocks.
struct QuantBlock {
  static constexpr int kElements = 32;

  std::int8_t q[kElements];  ///< -127 .. 127
  float scale;
  float scaled_sum;  ///< scale * (sum of q), what a constant added to every weight contributes
  /// kQuantMagic - 128 * (sum of q): what integer sums begin with. Undoes weights that are stored with 128
  /// added.
  std::int32_t offset = kQuantMagic;
  std::int32_t offset_low = kQuantMagic;  ///< the same of the first 16 alone
};
static_assert(sizeof(QuantBlock) == kQuantBlockBytes);

/// A good x_stride for products over k columns: at least padded_k. Rows that lie a multiple of 4 KiB apart
/// fall into the same few cache sets, which costs several percent with many rows; this avoids it.
inline std::int64_t activation_stride(std::int64_t k) {
  constexpr std::int64_t kGrain = 128;  // for quantised weights; K types have whole blocks of 256
  const std::int64_t padded = (k + kGrain - 1) / kGrain * kGrain;
  return padded % 512 == 0 ? padded + 32 : padded;
}

/// The law of blocks in plain C++: what every vector variant is compared with. out[ceil(n / 32)]; a last
/// block that n does not fill has zeros.
void quantize_row_reference(const float* x, std::int64_t n, QuantBlock* out);

/// Where the second half of a fine row of n elements begins.
inline QuantBlock* fine_rest(QuantBlock* row, std::int64_t n) {
  return row + activation_stride(n) / QuantBlock::kElements;
}

}  // namespace augur
