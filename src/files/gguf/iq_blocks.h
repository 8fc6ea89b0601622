#pragma once
#include <cstdint>

namespace augur {

/// Expand one block of 256 values of GGUF's types that take 4 or 8 values at a time from a grid (iq_grids.h),
/// at `b`, to `out`. dequantize() is what the rest of the program calls.
void expand_iq2_xxs(const std::uint8_t* b, float* out);  ///< 66 bytes
void expand_iq2_xs(const std::uint8_t* b, float* out);   ///< 74
void expand_iq2_s(const std::uint8_t* b, float* out);    ///< 82
void expand_iq3_xxs(const std::uint8_t* b, float* out);  ///< 98
void expand_iq3_s(const std::uint8_t* b, float* out);    ///< 110
void expand_iq1_s(const std::uint8_t* b, float* out);    ///< 50
void expand_iq1_m(const std::uint8_t* b, float* out);    ///< 56

}  // namespace augur
