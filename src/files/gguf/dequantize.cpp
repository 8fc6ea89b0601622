// Block layouts: ggml-common.h of llama.cpp, as documented by the `gguf` Python package. All scales are IEEE
// half, all values little-endian (as are the machines this project runs on).
#include "files/gguf/dequantize.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "files/gguf/block_fields.h"
#include "files/gguf/iq_blocks.h"

namespace augur {

static_assert(std::endian::native == std::endian::little, "tensor files are little-endian");

namespace {

using U8 = std::uint8_t;

// 32 elements: d, 16 bytes of nibbles (low nibbles first); x = d (q - 8).
void expand_q4_0(const U8* b, float* out) {
  const float d = half_at(b);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
    out[16 + i] = d * static_cast<float>((b[2 + i] >> 4) - 8);
  }
}

// d, m, nibbles; x = d q + m.
void expand_q4_1(const U8* b, float* out) {
  const float d = half_at(b);
  const float m = half_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(b[4 + i] & 15) + m;
    out[16 + i] = d * static_cast<float>(b[4 + i] >> 4) + m;
  }
}

// d, 32 fifth bits, nibbles; x = d (q - 16).
void expand_q5_0(const U8* b, float* out) {
  const float d = half_at(b);
  const auto high = load<std::uint32_t>(b + 2);
  for (int i = 0; i < 16; ++i) {
    const int low = (b[6 + i] & 15) | static_cast<int>((high >> i & 1u) << 4);
    const int up = (b[6 + i] >> 4) | static_cast<int>((high >> (i + 16) & 1u) << 4);
    out[i] = d * static_cast<float>(low - 16);
    out[16 + i] = d * static_cast<float>(up - 16);
  }
}

// d, m, 32 fifth bits, nibbles; x = d q + m.
void expand_q5_1(const U8* b, float* out) {
  const float d = half_at(b);
  const float m = half_at(b + 2);
  const auto high = load<std::uint32_t>(b + 4);
  for (int i = 0; i < 16; ++i) {
    const int low = (b[8 + i] & 15) | static_cast<int>((high >> i & 1u) << 4);
    const int up = (b[8 + i] >> 4) | static_cast<int>((high >> (i + 16) & 1u) << 4);
    out[i] = d * static_cast<float>(low) + m;
    out[16 + i] = d * static_cast<float>(up) + m;
  }
}

void expand_q8_0(const U8* b, float* out) {
  const float d = half_at(b);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(b[2 + i]));
}

// 16 groups of 16: 4-bit scale and minimum each, 2-bit values; then d, dmin. x = d s q - dmin m.
void expand_q2_k(const U8* b, float* out) {
  const U8* scales = b;
  const U8* q = b + 16;
  const float d = half_at(b + 80);
  const float dmin = half_at(b + 82);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(scales[group] & 15);
    const float minimum = dmin * static_cast<float>(scales[group] >> 4);
    const U8* bytes = q + group / 8 * 32 + group % 2 * 16;
    const int shift = group % 8 / 2 * 2;
    for (int i = 0; i < 16; ++i) {
      out[group * 16 + i] = scale * static_cast<float>(bytes[i] >> shift & 3) - minimum;
    }
  }
}

// Third bits, 2-bit values, 16 scales of 6 bits in 12 bytes, d. x = d (s - 32) (q - 4 when the bit is 0).
void expand_q3_k(const U8* b, float* out) {
  const U8* high = b;
  const U8* q = b + 32;
  const U8* scales = b + 96;
  const float d = half_at(b + 108);
  for (int group = 0; group < 16; ++group) {
    const int low_bits = scales[group % 8] >> (group / 8 * 4) & 15;
    const int high_bits = scales[8 + group % 4] >> (group / 4 * 2) & 3;
    const float scale = d * static_cast<float>((low_bits | high_bits << 4) - 32);
    const U8* bytes = q + group / 8 * 32 + group % 2 * 16;
    const U8* masks = high + group % 2 * 16;
    for (int i = 0; i < 16; ++i) {
      const int value = (bytes[i] >> (group % 8 / 2 * 2) & 3) - ((masks[i] >> (group / 2) & 1) != 0 ? 0 : 4);
      out[group * 16 + i] = scale * static_cast<float>(value);
    }
  }
}

/// Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minima in 12 bytes.
struct ScaleAndMin {
  int scale;
  int min;
};
ScaleAndMin unpack_k_scale(const U8* p, int i) {
  if (i < 4) return {p[i] & 63, p[4 + i] & 63};
  return {(p[4 + i] & 15) | (p[i - 4] >> 6 << 4), (p[4 + i] >> 4) | (p[i] >> 6 << 4)};
}

// d, dmin, scales, nibbles: 8 groups of 32. x = d s q - dmin m.
void expand_q4_k(const U8* b, float* out) {
  const float d = half_at(b);
  const float dmin = half_at(b + 2);
  for (int group = 0; group < 8; ++group) {
    const auto [scale, min] = unpack_k_scale(b + 4, group);
    const float s = d * static_cast<float>(scale);
    const float m = dmin * static_cast<float>(min);
    const U8* q = b + 16 + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) out[group * 32 + i] = s * static_cast<float>(q[i] >> shift & 15) - m;
  }
}

// As Q4_K with 32 bytes of fifth bits before the nibbles: bit g of byte i belongs to element i of group g.
void expand_q5_k(const U8* b, float* out) {
  const float d = half_at(b);
  const float dmin = half_at(b + 2);
  const U8* high = b + 16;
  for (int group = 0; group < 8; ++group) {
    const auto [scale, min] = unpack_k_scale(b + 4, group);
    const float s = d * static_cast<float>(scale);
    const float m = dmin * static_cast<float>(min);
    const U8* q = b + 48 + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int value = (q[i] >> shift & 15) | (high[i] >> group & 1) << 4;
      out[group * 32 + i] = s * static_cast<float>(value) - m;
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 int8 scales, d. x = d s (q - 32).
void expand_q6_k(const U8* b, float* out) {
  const U8* low = b;
  const U8* high = b + 128;
  const U8* scales = b + 192;
  const float d = half_at(b + 208);
  for (int part = 0; part < 8; ++part) {  // 32 elements each: two scales
    const U8* l = low + part / 4 * 64 + part % 2 * 32;
    const U8* h = high + part / 4 * 32;
    const int low_shift = part % 4 / 2 * 4;
    const int high_shift = part % 4 * 2;
    for (int i = 0; i < 32; ++i) {
      const int value = ((l[i] >> low_shift & 15) | (h[i] >> high_shift & 3) << 4) - 32;
      const float s = d * static_cast<float>(static_cast<std::int8_t>(scales[part * 2 + i / 16]));
      out[part * 32 + i] = s * static_cast<float>(value);
    }
  }
}

constexpr float kFp4Values[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};

// A power of two, e - 127, and nibbles of 4-bit floats (sign, two bits of exponent, one of mantissa).
void expand_mxfp4(const U8* b, float* out) {
  const float d = std::ldexp(1.0f, static_cast<int>(b[0]) - 127);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * kFp4Values[b[1 + i] & 15];
    out[16 + i] = d * kFp4Values[b[1 + i] >> 4];
  }
}

// Signs, exponent and values of E2M1 as above; 4 scales of 16 values, unsigned floats with 4 bits of exponent
// and 3 of mantissa. What a file says of the whole tensor's scale stands in a tensor of its own.
void expand_nvfp4(const U8* b, float* out) {
  for (int group = 0; group < 4; ++group) {
    const int exponent = b[group] >> 3 & 15;
    const int mantissa = b[group] & 7;
    float d = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                            : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    if (b[group] == 0x7f) d = 0.0f;  // the format's NaN, as ggml reads it
    for (int i = 0; i < 8; ++i) {
      const U8 pair = b[4 + group * 8 + i];
      out[group * 16 + i] = d * kFp4Values[pair & 15];
      out[group * 16 + 8 + i] = d * kFp4Values[pair >> 4];
    }
  }
}

constexpr std::int8_t kCurve[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void expand_curve(float scale, const U8* nibbles, float* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(kCurve[nibbles[i] & 15]);
    out[16 + i] = scale * static_cast<float>(kCurve[nibbles[i] >> 4]);
  }
}

// d, nibbles of places on a curve.
void expand_iq4_nl(const U8* b, float* out) {
  expand_curve(half_at(b), b + 2, out);
}

// d, 8 scales of 6 bits (the upper two first), nibbles. x = d (s - 32) curve[q].
void expand_iq4_xs(const U8* b, float* out) {
  const float d = half_at(b);
  const int upper = load<std::uint16_t>(b + 2);
  for (int group = 0; group < 8; ++group) {
    const int scale = (b[4 + group / 2] >> (group % 2 * 4) & 15) | (upper >> (2 * group) & 3) << 4;
    expand_curve(d * static_cast<float>(scale - 32), b + 8 + group * 16, out + group * 32);
  }
}

// Ternary, 5 values to a byte: 160 in 32 bytes, 80 in 16, and 4 to a byte 16 in 4; d. The values are the
// byte's digits as a fraction of 256 in base 3.
void expand_tq1_0(const U8* b, float* out) {
  constexpr U8 kPowers[5] = {1, 3, 9, 27, 81};
  const float d = half_at(b + 52);
  const auto expand = [&](const U8* bytes, int count, int digits) {
    for (int digit = 0; digit < digits; ++digit) {
      for (int i = 0; i < count; ++i) {
        const auto shifted = static_cast<U8>(bytes[i] * kPowers[digit]);
        *out++ = d * static_cast<float>((shifted * 3 >> 8) - 1);
      }
    }
  };
  expand(b, 32, 5);
  expand(b + 32, 16, 5);
  expand(b + 48, 4, 4);
}

// Bit pairs less 1; d.
void expand_tq2_0(const U8* b, float* out) {
  const float d = half_at(b + 64);
  for (int i = 0; i < 256; ++i) {
    out[i] = d * static_cast<float>((b[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1);
  }
}

template <int kElements, int kBytes, class Expand>
void expand_blocks(const U8* bytes, std::int64_t count, float* out, Expand expand) {
  for (std::int64_t block = 0; block < count / kElements; ++block) {
    expand(bytes + block * kBytes, out + block * kElements);
  }
}

}  // namespace

void dequantize(DType type, const std::byte* bytes, std::int64_t count, float* out) {
  const auto* b = reinterpret_cast<const U8*>(bytes);
  switch (type) {
    case DType::F64:
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(load<double>(b + 8 * i));
      return;
    case DType::F32:
      if (count > 0) std::memcpy(out, b, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::F16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = half_at(b + 2 * i);
      return;
    case DType::BF16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = to_float(BF16{load<std::uint16_t>(b + 2 * i)});
      return;
    case DType::Q4_0:
      return expand_blocks<32, 18>(b, count, out, expand_q4_0);
    case DType::Q4_1:
      return expand_blocks<32, 20>(b, count, out, expand_q4_1);
    case DType::Q5_0:
      return expand_blocks<32, 22>(b, count, out, expand_q5_0);
    case DType::Q5_1:
      return expand_blocks<32, 24>(b, count, out, expand_q5_1);
    case DType::Q8_0:
      return expand_blocks<32, 34>(b, count, out, expand_q8_0);
    case DType::Q2_K:
      return expand_blocks<256, 84>(b, count, out, expand_q2_k);
    case DType::Q3_K:
      return expand_blocks<256, 110>(b, count, out, expand_q3_k);
    case DType::Q4_K:
      return expand_blocks<256, 144>(b, count, out, expand_q4_k);
    case DType::Q5_K:
      return expand_blocks<256, 176>(b, count, out, expand_q5_k);
    case DType::Q6_K:
      return expand_blocks<256, 210>(b, count, out, expand_q6_k);
    case DType::MXFP4:
      return expand_blocks<32, 17>(b, count, out, expand_mxfp4);
    case DType::NVFP4:
      return expand_blocks<64, 36>(b, count, out, expand_nvfp4);
    case DType::IQ4_NL:
      return expand_blocks<32, 18>(b, count, out, expand_iq4_nl);
    case DType::IQ4_XS:
      return expand_blocks<256, 136>(b, count, out, expand_iq4_xs);
    case DType::IQ3_S:
      return expand_blocks<256, 110>(b, count, out, expand_iq3_s);
    case DType::IQ3_XXS:
      return expand_blocks<256, 98>(b, count, out, expand_iq3_xxs);
    case DType::IQ2_S:
      return expand_blocks<256, 82>(b, count, out, expand_iq2_s);
    case DType::IQ2_XS:
      return expand_blocks<256, 74>(b, count, out, expand_iq2_xs);
    case DType::IQ2_XXS:
      return expand_blocks<256, 66>(b, count, out, expand_iq2_xxs);
    case DType::IQ1_M:
      return expand_blocks<256, 56>(b, count, out, expand_iq1_m);
    case DType::IQ1_S:
      return expand_blocks<256, 50>(b, count, out, expand_iq1_s);
    case DType::TQ1_0:
      return expand_blocks<256, 54>(b, count, out, expand_tq1_0);
    case DType::TQ2_0:
      return expand_blocks<256, 66>(b, count, out, expand_tq2_0);
    case DType::I64:
    case DType::I32:
    case DType::I16:
    case DType::I8:
    case DType::U8:
    case DType::Bool:
      break;
  }
  throw Error("elements of type {} are not numbers that a weight can be read from", name(type));
}

}  // namespace augur
