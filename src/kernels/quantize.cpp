// The stored layouts are those of src/files/gguf/dequantize.cpp.
#include "kernels/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/every_width.h"
#include "kernels/cpu/quant_format.h"

namespace augur {

// The searches gain two to three times by wider registers: AUGUR_FOR_EVERY_WIDTH.

namespace {

using U8 = std::uint8_t;

struct Fit {
  float scale = 0.0f;
  float minimum = 0.0f;
};

float through_half(float v) {
  return half_to_float(float_to_half(v));
}

constexpr float kLargestHalf = 65504.0f;

/// through_half() of values from 2^-14 to the largest half, without branches: the upper 11 of 24 bits
/// (Dekker's split), where ties may go the other way.
float near_half(float v) {
  const float scaled = v * 8193.0f;
  return scaled - (scaled - v);
}

int nearest(float v, int low, int high) {
  if (!(v > static_cast<float>(low))) return low;  // NaN, too
  return v < static_cast<float>(high) ? static_cast<int>(std::lrint(v)) : high;
}

/// Sums over a block are 16 partial sums, added up by halves: the compiler keeps them in registers.
constexpr int kLanes = 16;
using Lanes = float[kLanes];
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
[[gnu::always_inline]] inline float total(const Lanes& lanes) {
  float sums[kLanes / 2];
  for (int i = 0; i < 8; ++i) sums[i] = lanes[i] + lanes[i + 8];
  for (int i = 0; i < 4; ++i) sums[i] += sums[i + 4];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/// nearest() of small numbers without branches: added and taken away, this rounds to an integer.
float nearest_of(float v, float low, float high) {
  constexpr float kMagic = 0x1.8p23f;
  return std::min(std::max(v, low), high) + kMagic - kMagic;
}

/// x ~ scale * q, q in [low, -low - 1], N values of importance w. The largest magnitude gets the value that
/// has no mirror image; other scales near that one are tried.
template <int N>
float fit_symmetric(const float* x, const float* w, int low) {
  float largest = 0.0f;
  for (int i = 0; i < N; ++i) {
    if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
  }
  if (largest == 0.0f) return 0.0f;
  const auto lowest = static_cast<float>(low);
  float best_scale = 0.0f;
  float best = -1.0f;  // gain over all zeros, relative to it: (sum w x q)^2 / sum w q^2
  for (int step = -6; step <= 6; ++step) {
    const float inverse = (lowest + 0.1f * static_cast<float>(step)) / largest;
    Lanes xq = {}, qq = {};
    for (int i = 0; i < N; i += kLanes) {
      for (int j = 0; j < kLanes; ++j) {
        const float q = nearest_of(inverse * x[i + j], lowest, -lowest - 1.0f);
        xq[j] += w[i + j] * q * x[i + j];
        qq[j] += w[i + j] * q * q;
      }
    }
    const float sum_xq = total(xq), sum_qq = total(qq);
    const float gain = sum_xq / sum_qq * sum_xq;
    if (sum_qq > 0.0f && gain > best) {
      best = gain;
      best_scale = sum_xq / sum_qq;
    }
  }
  return best_scale;
}

/// x ~ scale * q + minimum, q in [0, levels], kCount values of importance w; minimum <= 0 when
/// `not_positive`.
template <int kCount>
AUGUR_FOR_EVERY_WIDTH Fit fit_affine(const float* x, const float* w, int levels, bool not_positive) {
  const auto [low_at, high_at] = std::minmax_element(x, x + kCount);
  const float low = not_positive ? std::min(*low_at, 0.0f) : *low_at;
  const float high = *high_at;
  if (!(high > low)) return {0.0f, low};
  const auto most = static_cast<float>(levels);
  Lanes w_lanes = {}, x_lanes = {};
  for (int i = 0; i < kCount; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      w_lanes[j] += w[i + j];
      x_lanes[j] += w[i + j] * x[i + j];
    }
  }
  const double sum_w = total(w_lanes), sum_x = total(x_lanes);
  Fit best{(high - low) / most, low};
  float best_error = INFINITY;
  for (int step = -4; step <= 8; ++step) {
    const float inverse = (most + 0.1f * static_cast<float>(step)) / (high - low);
    Lanes q_lanes = {}, qq_lanes = {}, xq_lanes = {};
    for (int i = 0; i < kCount; i += kLanes) {
      for (int j = 0; j < kLanes; ++j) {
        const float q = nearest_of(inverse * (x[i + j] - low), 0.0f, most);
        q_lanes[j] += w[i + j] * q;
        qq_lanes[j] += w[i + j] * q * q;
        xq_lanes[j] += w[i + j] * q * x[i + j];
      }
    }
    const double sum_q = total(q_lanes), sum_qq = total(qq_lanes), sum_xq = total(xq_lanes);
    const double determinant = sum_w * sum_qq - sum_q * sum_q;  // least squares of x on q
    if (determinant <= 0.0) continue;
    Fit fit{static_cast<float>((sum_w * sum_xq - sum_q * sum_x) / determinant),
            static_cast<float>((sum_qq * sum_x - sum_q * sum_xq) / determinant)};
    if (not_positive && fit.minimum > 0.0f) fit = {static_cast<float>(sum_xq / sum_qq), 0.0f};
    if (!(fit.scale > 0.0f)) continue;
    const float by_scale = 1.0f / fit.scale;
    Lanes errors = {};
    for (int i = 0; i < kCount; i += kLanes) {
      for (int j = 0; j < kLanes; ++j) {
        const float q = nearest_of((x[i + j] - fit.minimum) * by_scale, 0.0f, most);
        const float off = fit.scale * q + fit.minimum - x[i + j];
        errors[j] += w[i + j] * off * off;
      }
    }
    if (const float error = total(errors); error < best_error) {
      best_error = error;
      best = fit;
    }
  }
  return best;
}

/// A scale or a minimum.
void put_half(U8* at, float v) {
  const std::uint16_t half = float_to_half(v);
  if (!std::isfinite(half_to_float(half))) {
    throw Error("a block's values are too large: its scale or minimum is outside the range of F16");
  }
  std::memcpy(at, &half, sizeof half);
}

float inverse_of(float scale) {
  return scale != 0.0f ? 1.0f / scale : 0.0f;
}

/// The largest magnitude is to be c times the scale, and c need not be 127. The best of 64 is 11% nearer to
/// normally distributed values, and half and more to those that had 4 bits before: a scale finds their steps.
/// Candidates lie side by side in a register, so that no sum goes across one; left to itself GCC puts the
/// values there.
AUGUR_FOR_EVERY_WIDTH
float q8_0_scale(const float* x, const float* w) {
  constexpr int kCandidates = 64;
  constexpr float kMagic = 0x1.8p23f;  // added and taken away, it rounds to an integer
  float largest = 0.0f;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[i]));
  float best_scale = through_half(largest / 127.0f);
  // One that is no normal half has fewer bits, and q could leave its range.
  if (best_scale < 0x1p-14f) return best_scale;
  float best = INFINITY;
  for (int first = 0; first < kCandidates; first += kLanes) {
    Vector scales, errors = {};
    for (int j = 0; j < kLanes; ++j) scales[j] = near_half(largest / static_cast<float>(127 - first - j));
    const Vector inverses = 1.0f / scales;
    for (int i = 0; i < 32; ++i) {
      const Vector off = (x[i] * inverses + kMagic - kMagic) * scales - x[i];
      errors += w[i] * off * off;
    }
    for (int j = 0; j < kLanes; ++j) {
      if (errors[j] < best && scales[j] <= kLargestHalf) {
        best = errors[j];
        best_scale = scales[j];
      }
    }
  }
  return best_scale;
}

void quantize_q8_0(const float* x, const float* w, U8* b) {
  const float scale = q8_0_scale(x, w);
  put_half(b, scale);
  const float inverse = inverse_of(scale);
  for (int i = 0; i < 32; ++i) b[2 + i] = static_cast<U8>(nearest(x[i] * inverse, -127, 127));
}

/// Q4_0 and Q5_0 (with the fifth bits).
void quantize_symmetric(const float* x, const float* w, int bits, U8* b) {
  const int half_range = 1 << (bits - 1);
  const float scale = through_half(fit_symmetric<32>(x, w, -half_range));
  const float inverse = inverse_of(scale);
  put_half(b, scale);
  U8* nibbles = b + (bits == 5 ? 6 : 2);
  std::uint32_t fifth = 0;
  U8 q[32];
  for (int i = 0; i < 32; ++i) {
    q[i] = static_cast<U8>(nearest(x[i] * inverse, -half_range, half_range - 1) + half_range);
    fifth |= static_cast<std::uint32_t>(q[i] >> 4) << i;
  }
  for (int i = 0; i < 16; ++i) nibbles[i] = static_cast<U8>((q[i] & 15) | (q[16 + i] & 15) << 4);
  if (bits == 5) std::memcpy(b + 2, &fifth, sizeof fifth);
}

/// Q4_1 and Q5_1.
void quantize_affine(const float* x, const float* w, int bits, U8* b) {
  const int levels = (1 << bits) - 1;
  const Fit fit = fit_affine<32>(x, w, levels, false);
  const float scale = through_half(fit.scale);
  const float minimum = through_half(fit.minimum);
  const float inverse = inverse_of(scale);
  put_half(b, scale);
  put_half(b + 2, minimum);
  U8* nibbles = b + (bits == 5 ? 8 : 4);
  std::uint32_t fifth = 0;
  U8 q[32];
  for (int i = 0; i < 32; ++i) {
    q[i] = static_cast<U8>(nearest((x[i] - minimum) * inverse, 0, levels));
    fifth |= static_cast<std::uint32_t>(q[i] >> 4) << i;
  }
  for (int i = 0; i < 16; ++i) nibbles[i] = static_cast<U8>((q[i] & 15) | (q[16 + i] & 15) << 4);
  if (bits == 5) std::memcpy(b + 4, &fifth, sizeof fifth);
}

/// Q4_K and Q5_K: eight blocks, whose scales and minima are 6-bit multiples of d and dmin.
void quantize_k(const float* x, const float* w, int bits, U8* b) {
  const int levels = (1 << bits) - 1;
  Fit fits[8];
  float largest_scale = 0.0f;
  float largest_minimum = 0.0f;
  for (int i = 0; i < 8; ++i) {
    fits[i] = fit_affine<32>(x + 32 * i, w + 32 * i, levels, true);
    largest_scale = std::max(largest_scale, fits[i].scale);
    largest_minimum = std::max(largest_minimum, -fits[i].minimum);
  }
  const float d = through_half(largest_scale / 63.0f);
  const float dmin = through_half(largest_minimum / 63.0f);
  put_half(b, d);
  put_half(b + 2, dmin);
  U8* packed = b + 4;
  std::memset(packed, 0, 12);
  U8* nibbles = b + (bits == 5 ? 48 : 16);
  std::memset(b + 16, 0, bits == 5 ? 160 : 128);
  for (int i = 0; i < 8; ++i) {
    const int scale = nearest(fits[i].scale * inverse_of(d), 0, 63);
    const int minimum = nearest(-fits[i].minimum * inverse_of(dmin), 0, 63);
    if (i < 4) {
      packed[i] = static_cast<U8>(packed[i] | scale);
      packed[4 + i] = static_cast<U8>(packed[4 + i] | minimum);
    } else {
      packed[4 + i] = static_cast<U8>((scale & 15) | (minimum & 15) << 4);
      packed[i - 4] = static_cast<U8>(packed[i - 4] | scale >> 4 << 6);
      packed[i] = static_cast<U8>(packed[i] | minimum >> 4 << 6);
    }
    const float inverse = inverse_of(d * static_cast<float>(scale));
    const float m = dmin * static_cast<float>(minimum);
    for (int j = 0; j < 32; ++j) {
      const int q = nearest((x[32 * i + j] + m) * inverse, 0, levels);
      U8& at = nibbles[i / 2 * 32 + j];
      at = static_cast<U8>(at | (q & 15) << (i % 2 * 4));
      if (bits == 5) b[16 + j] = static_cast<U8>(b[16 + j] | q >> 4 << i);
    }
  }
}

/// Sixteen groups, whose scales are signed 8-bit multiples of d.
void quantize_q6_k(const float* x, const float* w, U8* b) {
  float scales[16];
  float largest = 0.0f;
  for (int i = 0; i < 16; ++i) {
    scales[i] = fit_symmetric<16>(x + 16 * i, w + 16 * i, -32);
    largest = std::max(largest, std::fabs(scales[i]));
  }
  const float d = through_half(largest / 127.0f);
  put_half(b + 208, d);
  std::memset(b, 0, 192);
  for (int i = 0; i < 16; ++i) {
    const int scale = nearest(scales[i] * inverse_of(d), -127, 127);
    b[192 + i] = static_cast<U8>(scale);
    const float inverse = inverse_of(d * static_cast<float>(scale));
    for (int j = 0; j < 16; ++j) {
      const int q = nearest(x[16 * i + j] * inverse, -32, 31) + 32;
      const int part = i / 2;         // of 32 values
      const int at = i % 2 * 16 + j;  // in it
      U8& low = b[part / 4 * 64 + part % 2 * 32 + at];
      U8& high = b[128 + part / 4 * 32 + at];
      low = static_cast<U8>(low | (q & 15) << (part % 4 / 2 * 4));
      high = static_cast<U8>(high | q >> 4 << (part % 4 * 2));
    }
  }
}

/// Sixteen groups of 2 bits, whose scales and minima are 4-bit multiples of d and dmin.
void quantize_q2_k(const float* x, const float* w, U8* b) {
  Fit fits[16];
  float largest_scale = 0.0f;
  float largest_minimum = 0.0f;
  for (int i = 0; i < 16; ++i) {
    fits[i] = fit_affine<16>(x + 16 * i, w + 16 * i, 3, true);
    largest_scale = std::max(largest_scale, fits[i].scale);
    largest_minimum = std::max(largest_minimum, -fits[i].minimum);
  }
  const float d = through_half(largest_scale / 15.0f);
  const float dmin = through_half(largest_minimum / 15.0f);
  put_half(b + 80, d);
  put_half(b + 82, dmin);
  std::memset(b + 16, 0, 64);
  for (int i = 0; i < 16; ++i) {
    const int scale = nearest(fits[i].scale * inverse_of(d), 0, 15);
    const int minimum = nearest(-fits[i].minimum * inverse_of(dmin), 0, 15);
    b[i] = static_cast<U8>(scale | minimum << 4);
    const float inverse = inverse_of(d * static_cast<float>(scale));
    const float m = dmin * static_cast<float>(minimum);
    for (int j = 0; j < 16; ++j) {
      U8& at = b[16 + i / 8 * 32 + i % 2 * 16 + j];
      at = static_cast<U8>(at | nearest((x[16 * i + j] + m) * inverse, 0, 3) << (i % 8 / 2 * 2));
    }
  }
}

/// Sixteen groups of 3 bits, whose scales are signed 6-bit multiples of d.
void quantize_q3_k(const float* x, const float* w, U8* b) {
  float scales[16];
  float largest = 0.0f;  // with its sign: it becomes -32, the others with the same sign negative
  for (int i = 0; i < 16; ++i) {
    scales[i] = fit_symmetric<16>(x + 16 * i, w + 16 * i, -4);
    if (std::fabs(scales[i]) > std::fabs(largest)) largest = scales[i];
  }
  const float d = through_half(largest / -32.0f);
  std::memset(b, 0, 108);
  put_half(b + 108, d);
  for (int i = 0; i < 16; ++i) {
    const int scale = nearest(scales[i] * inverse_of(d), -32, 31);
    const int stored = scale + 32;
    U8& low = b[96 + i % 8];
    U8& high = b[96 + 8 + i % 4];
    low = static_cast<U8>(low | (stored & 15) << (i / 8 * 4));
    high = static_cast<U8>(high | stored >> 4 << (i / 4 * 2));
    const float inverse = inverse_of(d * static_cast<float>(scale));
    for (int j = 0; j < 16; ++j) {
      const int q = nearest(x[16 * i + j] * inverse, -4, 3) + 4;
      U8& pair = b[32 + i / 8 * 32 + i % 2 * 16 + j];
      U8& third = b[i % 2 * 16 + j];
      pair = static_cast<U8>(pair | (q & 3) << (i % 8 / 2 * 2));
      third = static_cast<U8>(third | q >> 2 << (i / 2));
    }
  }
}

/// Values that nibbles stand for, in ascending order, and half-way between them.
struct Curve {
  float values[16];
  float middles[15];
};
constexpr Curve kCurve = [] {
  Curve curve = {};
  const std::uint8_t* table = quant_table(QuantTable::Curve);
  for (int i = 0; i < 16; ++i) curve.values[i] = static_cast<float>(table[i]) - 128.0f;
  for (int i = 0; i < 15; ++i) curve.middles[i] = 0.5f * (curve.values[i] + curve.values[i + 1]);
  return curve;
}();

int nearest_on_curve(float v) {
  int place = 0;
  for (const float middle : kCurve.middles) place += v > middle ? 1 : 0;
  return place;
}

/// The value of the curve that is nearest to v, by sixteen lanes at once.
void onto_curve(const float* v, float* q) {
  for (int j = 0; j < kLanes; ++j) q[j] = kCurve.values[0];
  for (int i = 0; i < 15; ++i) {
    const float step = kCurve.values[i + 1] - kCurve.values[i];
    for (int j = 0; j < kLanes; ++j) q[j] += v[j] > kCurve.middles[i] ? step : 0.0f;
  }
}

/// x ~ scale * a value of the curve, 32 values of importance w. The largest magnitude gets one of the ends,
/// or nearly: scales near that one are tried, of either sign.
AUGUR_FOR_EVERY_WIDTH
float fit_curve(const float* x, const float* w) {
  float largest = 0.0f;
  for (int i = 0; i < 32; ++i) {
    if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
  }
  if (largest == 0.0f) return 0.0f;
  float best_scale = 0.0f;
  float best = -1.0f;
  for (int step = 0; step < 16; ++step) {
    // Half of those that are tried put the largest near the curve's lower end, half near its upper one.
    const int place = step / 2;
    const float end = (step % 2 == 0 ? -127.0f : 113.0f) + 6.0f * static_cast<float>(place) - 21.0f;
    const float inverse = end / largest;
    Lanes xq = {}, qq = {};
    for (int i = 0; i < 32; i += kLanes) {
      float v[kLanes], q[kLanes];
      for (int j = 0; j < kLanes; ++j) v[j] = inverse * x[i + j];
      onto_curve(v, q);
      for (int j = 0; j < kLanes; ++j) {
        xq[j] += w[i + j] * q[j] * x[i + j];
        qq[j] += w[i + j] * q[j] * q[j];
      }
    }
    const float sum_xq = total(xq), sum_qq = total(qq);
    const float gain = sum_xq / sum_qq * sum_xq;
    if (sum_qq > 0.0f && gain > best) {
      best = gain;
      best_scale = sum_xq / sum_qq;
    }
  }
  return best_scale;
}

void put_on_curve(const float* x, float scale, U8* nibbles) {
  const float inverse = inverse_of(scale);
  for (int i = 0; i < 16; ++i) {
    nibbles[i] =
        static_cast<U8>(nearest_on_curve(x[i] * inverse) | nearest_on_curve(x[16 + i] * inverse) << 4);
  }
}

void quantize_iq4_nl(const float* x, const float* w, U8* b) {
  const float scale = through_half(fit_curve(x, w));
  put_half(b, scale);
  put_on_curve(x, scale, b + 2);
}

/// Eight blocks, whose scales are signed 6-bit multiples of d.
void quantize_iq4_xs(const float* x, const float* w, U8* b) {
  float scales[8];
  float largest = 0.0f;
  for (int i = 0; i < 8; ++i) {
    scales[i] = fit_curve(x + 32 * i, w + 32 * i);
    if (std::fabs(scales[i]) > std::fabs(largest)) largest = scales[i];
  }
  const float d = through_half(largest / -32.0f);
  put_half(b, d);
  std::memset(b + 2, 0, 6);
  unsigned upper = 0;
  for (int i = 0; i < 8; ++i) {
    const int scale = nearest(scales[i] * inverse_of(d), -32, 31);
    const int stored = scale + 32;
    U8& low = b[4 + i / 2];
    low = static_cast<U8>(low | (stored & 15) << (i % 2 * 4));
    upper |= static_cast<unsigned>(stored >> 4) << (2 * i);
    put_on_curve(x + 32 * i, d * static_cast<float>(scale), b + 8 + 16 * i);
  }
  const auto bits = static_cast<std::uint16_t>(upper);
  std::memcpy(b + 2, &bits, sizeof bits);
}

constexpr float kFp4Values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

/// The place of the magnitude that is nearest to v >= 0.
int nearest_fp4(float v) {
  int place = 0;
  for (int i = 0; i < 7; ++i) place += v > 0.5f * (kFp4Values[i] + kFp4Values[i + 1]) ? 1 : 0;
  return place;
}

/// Of the powers of two that leave the largest magnitude between 2 and 16, the one with the least error.
void quantize_mxfp4(const float* x, const float* w, U8* b) {
  float largest = 0.0f;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[i]));
  std::memset(b, 0, 17);
  if (largest < 0x1p-120f) return;
  int exponent;
  std::frexp(largest, &exponent);  // largest in [2^(exponent - 1), 2^exponent)
  int best_power = 0;
  float best = INFINITY;
  for (int power = exponent - 4; power <= exponent - 2; ++power) {
    if (power + 127 < kQuantPowerBias + 1 || power + 127 > kQuantLargestPower) continue;
    const float scale = std::ldexp(1.0f, power);
    float error = 0.0f;
    for (int i = 0; i < 32; ++i) {
      const float off = scale * kFp4Values[nearest_fp4(std::fabs(x[i]) / scale)] - std::fabs(x[i]);
      error += w[i] * off * off;
    }
    if (error < best) {
      best = error;
      best_power = power;
    }
  }
  if (best == INFINITY)
    throw Error("a block's values are too large: its scale is outside the range of MXFP4");
  b[0] = static_cast<U8>(best_power + 127);
  const float scale = std::ldexp(1.0f, best_power);
  const auto nibble = [&](float v) { return nearest_fp4(std::fabs(v) / scale) | (v < 0.0f ? 8 : 0); };
  for (int i = 0; i < 16; ++i) b[1 + i] = static_cast<U8>(nibble(x[i]) | nibble(x[16 + i]) << 4);
}

}  // namespace

bool can_quantize(DType type) {
  switch (type) {
    case DType::Q8_0:
    case DType::Q4_0:
    case DType::Q4_1:
    case DType::Q5_0:
    case DType::Q5_1:
    case DType::Q4_K:
    case DType::Q5_K:
    case DType::Q6_K:
    case DType::Q2_K:
    case DType::Q3_K:
    case DType::IQ4_NL:
    case DType::IQ4_XS:
    case DType::MXFP4:
      return true;
    default:
      return false;
  }
}

void quantize_blocks(DType type, const float* values, std::int64_t count, std::byte* out,
                     const float* importance) {
  constexpr int kLargestBlock = 256;
  static constexpr auto kEqual = [] {
    std::array<float, kLargestBlock> ones{};
    ones.fill(1.0f);
    return ones;
  }();
  if (!can_quantize(type))
    throw Error(ErrorKind::Unsupported, "values cannot be quantised to {}", name(type));
  const BlockShape shape = block_shape(type);
  auto* b = reinterpret_cast<U8*>(out);
  for (std::int64_t i = 0; i + shape.elements <= count; i += shape.elements, b += shape.bytes) {
    const float* x = values + i;
    const float* w = importance == nullptr ? kEqual.data() : importance + i;
    if (!std::all_of(x, x + shape.elements, [](float v) { return std::isfinite(v); })) {
      throw Error(ErrorKind::Unsupported, "a value that is not finite cannot be quantised to {}", name(type));
    }
    switch (type) {
      case DType::Q8_0:
        quantize_q8_0(x, w, b);
        break;
      case DType::Q4_0:
      case DType::Q5_0:
        quantize_symmetric(x, w, type == DType::Q4_0 ? 4 : 5, b);
        break;
      case DType::Q4_1:
      case DType::Q5_1:
        quantize_affine(x, w, type == DType::Q4_1 ? 4 : 5, b);
        break;
      case DType::Q4_K:
      case DType::Q5_K:
        quantize_k(x, w, type == DType::Q4_K ? 4 : 5, b);
        break;
      case DType::Q2_K:
        quantize_q2_k(x, w, b);
        break;
      case DType::Q3_K:
        quantize_q3_k(x, w, b);
        break;
      case DType::IQ4_NL:
        quantize_iq4_nl(x, w, b);
        break;
      case DType::IQ4_XS:
        quantize_iq4_xs(x, w, b);
        break;
      case DType::MXFP4:
        quantize_mxfp4(x, w, b);
        break;
      default:
        quantize_q6_k(x, w, b);
        break;
    }
  }
}

}  // namespace augur
