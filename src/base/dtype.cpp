#include "base/dtype.h"

#include "base/error.h"

namespace augur {

bool is_integer(DType type) {
  return type == DType::I64 || type == DType::I32 || type == DType::I16 || type == DType::I8 ||
         type == DType::U8 || type == DType::Bool;
}

BlockShape block_shape(DType type) {
  switch (type) {
    case DType::F64:
    case DType::I64:
      return {1, 8};
    case DType::F32:
    case DType::I32:
      return {1, 4};
    case DType::F16:
    case DType::BF16:
    case DType::I16:
      return {1, 2};
    case DType::I8:
    case DType::U8:
    case DType::Bool:
      return {1, 1};
    case DType::Q4_0:
      return {32, 18};
    case DType::Q4_1:
      return {32, 20};
    case DType::Q5_0:
      return {32, 22};
    case DType::Q5_1:
      return {32, 24};
    case DType::Q8_0:
      return {32, 34};
    case DType::Q2_K:
      return {256, 84};
    case DType::Q3_K:
      return {256, 110};
    case DType::Q4_K:
      return {256, 144};
    case DType::Q5_K:
      return {256, 176};
    case DType::Q6_K:
      return {256, 210};
    case DType::MXFP4:
      return {32, 17};
    case DType::NVFP4:
      return {64, 36};
    case DType::IQ4_NL:
      return {32, 18};
    case DType::IQ4_XS:
      return {256, 136};
    case DType::IQ3_S:
      return {256, 110};
    case DType::IQ3_XXS:
      return {256, 98};
    case DType::IQ2_S:
      return {256, 82};
    case DType::IQ2_XS:
      return {256, 74};
    case DType::IQ2_XXS:
      return {256, 66};
    case DType::IQ1_M:
      return {256, 56};
    case DType::IQ1_S:
      return {256, 50};
    case DType::TQ1_0:
      return {256, 54};
    case DType::TQ2_0:
      return {256, 66};
  }
  throw Error(ErrorKind::Unsupported, "unknown element type {}", static_cast<int>(type));
}

std::string_view name(DType type) {
  switch (type) {
    case DType::F64:
      return "F64";
    case DType::F32:
      return "F32";
    case DType::F16:
      return "F16";
    case DType::BF16:
      return "BF16";
    case DType::I64:
      return "I64";
    case DType::I32:
      return "I32";
    case DType::I16:
      return "I16";
    case DType::I8:
      return "I8";
    case DType::U8:
      return "U8";
    case DType::Bool:
      return "BOOL";
    case DType::Q4_0:
      return "Q4_0";
    case DType::Q4_1:
      return "Q4_1";
    case DType::Q5_0:
      return "Q5_0";
    case DType::Q5_1:
      return "Q5_1";
    case DType::Q8_0:
      return "Q8_0";
    case DType::Q2_K:
      return "Q2_K";
    case DType::Q3_K:
      return "Q3_K";
    case DType::Q4_K:
      return "Q4_K";
    case DType::Q5_K:
      return "Q5_K";
    case DType::Q6_K:
      return "Q6_K";
    case DType::MXFP4:
      return "MXFP4";
    case DType::NVFP4:
      return "NVFP4";
    case DType::IQ4_NL:
      return "IQ4_NL";
    case DType::IQ4_XS:
      return "IQ4_XS";
    case DType::IQ3_S:
      return "IQ3_S";
    case DType::IQ3_XXS:
      return "IQ3_XXS";
    case DType::IQ2_S:
      return "IQ2_S";
    case DType::IQ2_XS:
      return "IQ2_XS";
    case DType::IQ2_XXS:
      return "IQ2_XXS";
    case DType::IQ1_M:
      return "IQ1_M";
    case DType::IQ1_S:
      return "IQ1_S";
    case DType::TQ1_0:
      return "TQ1_0";
    case DType::TQ2_0:
      return "TQ2_0";
  }
  return "?";
}

float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fu;
  const std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero or subnormal: exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t float_to_half(float v) {
  const auto u = std::bit_cast<std::uint32_t>(v);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000u);
  const std::uint32_t a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (a >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (a < 0x38800000u) {  // subnormal half: the addition makes the hardware round at the right bit
    const float r = std::bit_cast<float>(a) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(r) - 0x3f000000u));
  }
  const std::uint32_t r = a + 0xfffu + ((a >> 13) & 1u) - (112u << 23);
  return static_cast<std::uint16_t>(sign | (r >> 13));
}

}  // namespace augur
