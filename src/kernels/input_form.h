#pragma once
#include <cstdint>
#include <string_view>

#include "kernels/cpu/quant_format.h"

namespace augur {

/// In what form products take the rows of x (PackedMatrix::input_form()):
///
///   F32, BF16   [k]
///   Blocks8     [ceil(k / 32)] QuantBlocks (quant_rows.h): 8 bits a value
///   Blocks16    a fine row, 16 bits a value: the QuantBlocks of x, and activation_stride(k) elements after
///               their beginning those of what they leave of it, x[i] - scale * q[i] (docs/law.md)
enum class InputForm : std::uint8_t { F32, BF16, Blocks8, Blocks16 };

constexpr std::string_view name(InputForm form) {
  constexpr std::string_view kNames[] = {"f32", "bf16", "8-bit blocks", "16-bit blocks"};
  return kNames[static_cast<int>(form)];
}

/// Bytes of `elements` neighbouring values of a row; whole blocks.
constexpr std::int64_t row_bytes(InputForm form, std::int64_t elements) {
  constexpr std::int64_t kBlock = 32;
  switch (form) {
    case InputForm::F32:
      return 4 * elements;
    case InputForm::BF16:
      return 2 * elements;
    case InputForm::Blocks8:
      return (elements + kBlock - 1) / kBlock * kQuantBlockBytes;
    case InputForm::Blocks16:
      break;
  }
  return 2 * row_bytes(InputForm::Blocks8, elements);
}

}  // namespace augur
