#include "kernels/ops_quant.h"

#include <bit>
#include <cmath>
#include <limits>

// clang-format off: the order matters
#include "kernels/ops_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops_quant.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd_math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace augur {
namespace HWY_NAMESPACE {

constexpr std::int64_t kBlock = QuantBlock::kElements;

/// QuantBlock's law for 32 values.
HWY_INLINE void QuantizeBlock(const float* x, QuantBlock* out) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<std::int8_t, DF> d8;
  constexpr std::int64_t kLanes = hn::MaxLanes(DF());
  const auto no_sign = hn::Set(di, 0x7fffffff);
  auto largest = hn::Zero(di);
  for (std::int64_t i = 0; i < kBlock; i += kLanes) {
    largest = hn::Max(largest, hn::And(hn::BitCast(di, hn::LoadU(d, x + i)), no_sign));
  }
  const auto bits = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, largest)));
  const float a = std::bit_cast<float>(bits);
  if (bits >= 0x7f800000u || a < 0x1p-100f) {
    *out = {};
    if (bits >= 0x7f800000u) out->scale = out->scaled_sum = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  const auto inverse = hn::Set(d, 127.0f / a);
  const auto magic = hn::Set(d, kQuantMagicFloat);
  const auto magic_bits = hn::Set(di, kQuantMagic);
  auto low = hn::Zero(di);
  auto high = hn::Zero(di);
  for (std::int64_t i = 0; i < kBlock; i += kLanes) {
    const auto rounded = hn::Add(hn::Mul(hn::LoadU(d, x + i), inverse), magic);
    const auto q = hn::Sub(hn::BitCast(di, rounded), magic_bits);
    hn::StoreU(hn::DemoteTo(d8, q), d8, out->q + i);
    if (i < kBlock / 2) {
      low = hn::Add(low, q);
    } else {
      high = hn::Add(high, q);
    }
  }
  const std::int32_t low_sum = hn::GetLane(hn::SumOfLanes(di, low));
  const std::int32_t sum = hn::GetLane(hn::SumOfLanes(di, hn::Add(low, high)));
  out->scale = a / 127.0f;
  out->scaled_sum = out->scale * static_cast<float>(sum);
  out->offset = kQuantMagic - 128 * sum;
  out->offset_low = kQuantMagic - 128 * low_sum;
}

/// Quantises a block, and with `rest` what that leaves of it. Overwrites the values.
HWY_INLINE void QuantizeTwice(float* values, QuantBlock* out, QuantBlock* rest) {
  QuantizeBlock(values, out);
  if (rest == nullptr) return;
  const DF d;
  const hn::Rebind<std::int8_t, DF> d8;
  const hn::RebindToSigned<DF> di;
  const auto scale = hn::Set(d, out->scale);
  for (std::int64_t i = 0; i < kBlock; i += hn::MaxLanes(DF())) {
    const auto q = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, out->q + i)));
    hn::StoreU(hn::Sub(hn::LoadU(d, values + i), hn::Mul(scale, q)), d, values + i);
  }
  QuantizeBlock(values, rest);
}

/// Calls value(d, i) for the elements of one block after the other and quantises what it returns; with `rest`
/// also what that leaves of it.
template <class Value>
HWY_INLINE void QuantizeBlocks(std::int64_t n, QuantBlock* out, const Value& value,
                               QuantBlock* rest = nullptr) {
  const DF d;
  constexpr std::int64_t kLanes = hn::MaxLanes(DF());
  HWY_ALIGN float block[kBlock];
  std::int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (std::int64_t j = 0; j < kBlock; j += kLanes) hn::Store(value(d, i + j), d, block + j);
    QuantizeTwice(block, out++, rest);
    if (rest != nullptr) ++rest;
  }
  if (i == n) return;
  for (std::int64_t j = 0; j < kBlock; ++j) block[j] = 0.0f;
  for (std::int64_t j = 0; i + j < n; ++j) block[j] = hn::GetLane(value(DF1(), i + j));
  QuantizeTwice(block, out, rest);
}

void QuantizeRow(const float* x, std::int64_t n, QuantBlock* out) {
  const std::int64_t whole = n - n % kBlock;
  for (std::int64_t i = 0; i < whole; i += kBlock) QuantizeBlock(x + i, out + i / kBlock);
  const auto load = [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + whole + i); };
  QuantizeBlocks(n - whole, out + whole / kBlock, load);
}

void QuantizeRowFine(const float* x, std::int64_t n, QuantBlock* out, QuantBlock* rest) {
  QuantizeBlocks(
      n, out, [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); }, rest);
}

void RmsNormQuantized(const float* x, const float* weight, float eps, std::int64_t n, QuantBlock* out,
                      QuantBlock* rest) {
  const float squares = Sum16(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    return hn::Mul(v, v);
  });
  const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(n) + eps);
  const auto value = [&](auto d, std::int64_t i) HWY_ATTR {
    return hn::Mul(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, inverse)), hn::LoadU(d, weight + i));
  };
  QuantizeBlocks(n, out, value, rest);
}

void SiluMulQuantized(const float* gate, const float* up, std::int64_t n, QuantBlock* out) {
  QuantizeBlocks(n, out, [&](auto d, std::int64_t i) HWY_ATTR {
    return SiluTimes()(d, hn::LoadU(d, gate + i), hn::LoadU(d, up + i));
  });
}

template <class Activation>
HWY_INLINE void MulPanelsQuantized(const float* gate_up, std::int64_t pairs, QuantBlock* out) {
  QuantizeBlocks(16 * pairs, out, [&](auto d, std::int64_t i) HWY_ATTR {
    const float* gate = gate_up + i / 16 * 32 + i % 16;
    return Activation()(d, hn::LoadU(d, gate), hn::LoadU(d, gate + 16));
  });
}

void SiluMulPanelsQuantized(const float* gate_up, std::int64_t pairs, QuantBlock* out) {
  MulPanelsQuantized<SiluTimes>(gate_up, pairs, out);
}
void GeluMulPanelsQuantized(const float* gate_up, std::int64_t pairs, QuantBlock* out) {
  MulPanelsQuantized<GeluTimes>(gate_up, pairs, out);
}
void ClampedSwigluPanelsQuantized(const float* gate_up, std::int64_t pairs, QuantBlock* out) {
  MulPanelsQuantized<ClampedSwiglu>(gate_up, pairs, out);
}

void SquaredReluQuantized(const float* x, std::int64_t n, QuantBlock* out) {
  QuantizeBlocks(n, out,
                 [&](auto d, std::int64_t i) HWY_ATTR { return SquareOfRelu()(d, hn::LoadU(d, x + i)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace augur
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace augur {

HWY_EXPORT(QuantizeRow);
HWY_EXPORT(QuantizeRowFine);
HWY_EXPORT(RmsNormQuantized);
HWY_EXPORT(SiluMulQuantized);
HWY_EXPORT(SiluMulPanelsQuantized);
HWY_EXPORT(GeluMulPanelsQuantized);
HWY_EXPORT(ClampedSwigluPanelsQuantized);
HWY_EXPORT(SquaredReluQuantized);

void quantize_row(const float* x, std::int64_t n, QuantBlock* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeRow)(x, n, out);
}

void quantize_row_fine(const float* x, std::int64_t n, QuantBlock* out, QuantBlock* rest) {
  HWY_DYNAMIC_DISPATCH(QuantizeRowFine)(x, n, out, rest);
}

void rms_norm_quantized(const float* x, const float* weight, float eps, std::int64_t n, QuantBlock* out,
                        QuantBlock* rest) {
  HWY_DYNAMIC_DISPATCH(RmsNormQuantized)(x, weight, eps, n, out, rest);
}

void silu_mul_quantized(const float* gate, const float* up, std::int64_t n, QuantBlock* out) {
  HWY_DYNAMIC_DISPATCH(SiluMulQuantized)(gate, up, n, out);
}

void silu_mul_panels_quantized(const float* gate_up, std::int64_t pairs, QuantBlock* out) {
  HWY_DYNAMIC_DISPATCH(SiluMulPanelsQuantized)(gate_up, pairs, out);
}

void gelu_mul_panels_quantized(const float* gate_up, std::int64_t pairs, QuantBlock* out) {
  HWY_DYNAMIC_DISPATCH(GeluMulPanelsQuantized)(gate_up, pairs, out);
}

void clamped_swiglu_panels_quantized(const float* gate_up, std::int64_t pairs, QuantBlock* out) {
  HWY_DYNAMIC_DISPATCH(ClampedSwigluPanelsQuantized)(gate_up, pairs, out);
}

void squared_relu_quantized(const float* x, std::int64_t n, QuantBlock* out) {
  HWY_DYNAMIC_DISPATCH(SquaredReluQuantized)(x, n, out);
}

}  // namespace augur
#endif  // HWY_ONCE
