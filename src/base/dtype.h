#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace augur {

/// Element types of stored tensors. The quantised ones are GGUF's block formats.
enum class DType : std::uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U8,
  Bool,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  MXFP4,
  NVFP4,
  IQ4_NL,
  IQ4_XS,
  IQ3_S,
  IQ3_XXS,
  IQ2_S,
  IQ2_XS,
  IQ2_XXS,
  IQ1_M,
  IQ1_S,
  TQ1_0,
  TQ2_0,
};

/// A type stores `elements` values in `bytes` bytes (one value except for block formats).
struct BlockShape {
  int elements;
  int bytes;
};

/// Bool counts as one.
bool is_integer(DType type);
BlockShape block_shape(DType type);
std::string_view name(DType type);

/// bfloat16: the upper half of a float32.
struct BF16 {
  std::uint16_t bits = 0;

  friend bool operator==(BF16, BF16) = default;
};

inline float to_float(BF16 v) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16);
}

/// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
inline BF16 to_bf16(float v) {
  const auto u = std::bit_cast<std::uint32_t>(v);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((u >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

/// IEEE half to float, exact. Own code: clang 14 has no _Float16 for x86.
float half_to_float(std::uint16_t bits);
/// Float to IEEE half, round to nearest, ties to even.
std::uint16_t float_to_half(float v);

}  // namespace augur
