#include "files/gguf/ggml_types.h"

#include <array>

namespace augur {

std::string_view ggml_type_name(std::uint32_t type) {
  constexpr std::array<std::string_view, 42> kNames = {
      "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
      "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
      "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
      "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
      "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
      "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4",    "NVFP4",    "Q1_0"};
  return type < kNames.size() ? kNames[type] : "unknown";
}

std::optional<DType> ggml_dtype(std::uint32_t type) {
  switch (type) {
    case 0:
      return DType::F32;
    case 1:
      return DType::F16;
    case 2:
      return DType::Q4_0;
    case 3:
      return DType::Q4_1;
    case 6:
      return DType::Q5_0;
    case 7:
      return DType::Q5_1;
    case 8:
      return DType::Q8_0;
    case 10:
      return DType::Q2_K;
    case 11:
      return DType::Q3_K;
    case 12:
      return DType::Q4_K;
    case 13:
      return DType::Q5_K;
    case 14:
      return DType::Q6_K;
    case 16:
      return DType::IQ2_XXS;
    case 17:
      return DType::IQ2_XS;
    case 18:
      return DType::IQ3_XXS;
    case 19:
      return DType::IQ1_S;
    case 20:
      return DType::IQ4_NL;
    case 21:
      return DType::IQ3_S;
    case 22:
      return DType::IQ2_S;
    case 23:
      return DType::IQ4_XS;
    case 24:
      return DType::I8;
    case 25:
      return DType::I16;
    case 26:
      return DType::I32;
    case 27:
      return DType::I64;
    case 28:
      return DType::F64;
    case 29:
      return DType::IQ1_M;
    case 30:
      return DType::BF16;
    case 34:
      return DType::TQ1_0;
    case 35:
      return DType::TQ2_0;
    case 39:
      return DType::MXFP4;
    case 40:
      return DType::NVFP4;
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> ggml_type(DType dtype) {
  constexpr std::uint32_t kEnd = 42;
  for (std::uint32_t type = 0; type < kEnd; ++type) {
    if (ggml_dtype(type) == dtype) return type;
  }
  return std::nullopt;
}

}  // namespace augur
