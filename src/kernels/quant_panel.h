#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "kernels/cpu/quant_format.h"

namespace augur {

/// How weights of a stored type are packed: Q8_0, Q4_0, Q4_1, Q4_K, Q6_K, Q2_K, Q3_K, IQ4_NL, IQ4_XS, MXFP4
/// as they are, Q5_0, Q5_1, Q5_K with their values in bytes. Empty for the other types.
std::optional<QuantKind> quant_kind(DType type);

inline const QuantLayout& quant_layout(QuantKind kind) {
  return kQuantLayouts[static_cast<int>(kind)];
}

/// Columns of k in one step.
constexpr std::int64_t quant_step_k(const QuantLayout& layout) {
  return 32 * std::int64_t{layout.blocks};
}

/// Packs one row of blocks as GGUF stores them, k values of `type` (which quant_kind() knows; k in whole
/// blocks of it), as column `column` of a zeroed panel. The packed weights have the stored values exactly.
void pack_quantized_row(DType type, const std::byte* stored, std::int64_t k, std::byte* panel,
                        std::int64_t column);

/// Whether all scales and minima of a row as pack_quantized_row() takes it are numbers that products can take
/// (powers of two: at most kQuantLargestPower).
bool finite_scales(DType type, const std::byte* stored, std::int64_t k);

/// One column of a panel.
template <class Byte>
struct PanelColumn {
  Byte* panel;
  std::int64_t column;
};
/// Overwrites a column of a panel of `steps` steps with another's.
void copy_quantized_row(QuantKind kind, std::int64_t steps, PanelColumn<const std::byte> from,
                        PanelColumn<std::byte> to);

/// 32 weights of one column: weight i is scales[i / 16] * values[i] + minimums[i / 16].
struct QuantValues {
  std::int16_t values[32];
  float scales[2];    ///< equal but for kinds with halves
  float minimums[2];  ///< likewise
};
/// Block `block` (of 32 k) of a panel's column.
QuantValues unpack_quantized_block(QuantKind kind, const std::byte* panel, std::int64_t block,
                                   std::int64_t column);

}  // namespace augur
