#include "kernels/ops.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/elementary.h"
#include "kernels/ops_quant.h"

// clang-format off: the order matters
#include "kernels/ops_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd_math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace augur {
namespace HWY_NAMESPACE {

/// Stores lanes at out[i...] in the output's type.
template <class D, class V>
HWY_INLINE void StoreAs(D d, V v, float* out) {
  hn::StoreU(v, d, out);
}
template <class D, class V>
HWY_INLINE void StoreAs(D d, V v, BF16* out) {
  StoreBf16(d, v, out);
}

template <class T>
HWY_INLINE void ScaleByWeight(const float* x, const float* weight, float inverse, std::int64_t n, T* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto normal = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, inverse));
    StoreAs(d, hn::Mul(normal, hn::LoadU(d, weight + i)), out + i);
  });
}

void RmsNorm(const float* x, const float* weight, float eps, std::int64_t n, InputForm form, void* out) {
  const float squares = Sum16(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    return hn::Mul(v, v);
  });
  const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(n) + eps);
  if (form == InputForm::BF16) {
    ScaleByWeight(x, weight, inverse, n, static_cast<BF16*>(out));
  } else {
    ScaleByWeight(x, weight, inverse, n, static_cast<float*>(out));
  }
}

template <class T>
HWY_INLINE void SiluMulTo(const float* gate, const float* up, std::int64_t n, T* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    StoreAs(d, SiluTimes()(d, hn::LoadU(d, gate + i), hn::LoadU(d, up + i)), out + i);
  });
}

/// Activation: SiluTimes and the like. Lanes are at most 16, a panel.
template <class Activation, class T>
HWY_INLINE void MulPanelsTo(const float* gate_up, std::int64_t pairs, T* out) {
  Sweep(16 * pairs, [&](auto d, std::int64_t i) HWY_ATTR {
    const float* gate = gate_up + i / 16 * 32 + i % 16;
    StoreAs(d, Activation()(d, hn::LoadU(d, gate), hn::LoadU(d, gate + 16)), out + i);
  });
}

template <class Activation>
HWY_INLINE void MulPanels(const float* gate_up, std::int64_t pairs, InputForm form, void* out) {
  if (form == InputForm::BF16) {
    MulPanelsTo<Activation>(gate_up, pairs, static_cast<BF16*>(out));
  } else {
    MulPanelsTo<Activation>(gate_up, pairs, static_cast<float*>(out));
  }
}

void SiluMulPanels(const float* gate_up, std::int64_t pairs, InputForm form, void* out) {
  MulPanels<SiluTimes>(gate_up, pairs, form, out);
}
void GeluMulPanels(const float* gate_up, std::int64_t pairs, InputForm form, void* out) {
  MulPanels<GeluTimes>(gate_up, pairs, form, out);
}
void ClampedSwigluPanels(const float* gate_up, std::int64_t pairs, InputForm form, void* out) {
  MulPanels<ClampedSwiglu>(gate_up, pairs, form, out);
}

template <class T>
HWY_INLINE void SquaredReluTo(const float* x, std::int64_t n, T* out) {
  Sweep(n, [&](auto d, std::int64_t i)
               HWY_ATTR { StoreAs(d, SquareOfRelu()(d, hn::LoadU(d, x + i)), out + i); });
}
void SquaredRelu(const float* x, std::int64_t n, InputForm form, void* out) {
  if (form == InputForm::BF16) {
    SquaredReluTo(x, n, static_cast<BF16*>(out));
  } else {
    SquaredReluTo(x, n, static_cast<float*>(out));
  }
}

void SiluMul(const float* gate, const float* up, std::int64_t n, InputForm form, void* out) {
  if (form == InputForm::BF16) {
    SiluMulTo(gate, up, n, static_cast<BF16*>(out));
  } else {
    SiluMulTo(gate, up, n, static_cast<float*>(out));
  }
}

template <class T>
HWY_INLINE void SigmoidMulTo(const float* gate, const float* x, std::int64_t n, T* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto one = hn::Set(d, 1.0f);
    const auto divisor = hn::Add(one, Exp(d, hn::Neg(hn::LoadU(d, gate + i))));
    StoreAs(d, hn::Div(hn::LoadU(d, x + i), divisor), out + i);
  });
}

void SigmoidMul(const float* gate, const float* x, std::int64_t n, InputForm form, void* out) {
  if (form == InputForm::BF16) {
    SigmoidMulTo(gate, x, n, static_cast<BF16*>(out));
  } else {
    SigmoidMulTo(gate, x, n, static_cast<float*>(out));
  }
}

void ToBf16(const float* x, std::int64_t n, BF16* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR { StoreBf16(d, hn::LoadU(d, x + i), out + i); });
}

void RopeRotate(float* x, const float* cos, const float* sin, std::int64_t n) {
  float* upper = x + n / 2;
  Sweep(n / 2, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, upper + i);
    const auto c = hn::LoadU(d, cos + i);
    const auto s = hn::LoadU(d, sin + i);
    hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), d, x + i);
    hn::StoreU(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, upper + i);
  });
}

void SigmoidRow(const float* x, std::int64_t n, float* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto one = hn::Set(d, 1.0f);
    hn::StoreU(hn::Div(one, hn::Add(Exp(d, hn::Neg(hn::LoadU(d, x + i))), one)), d, out + i);
  });
}

void SoftplusRow(const float* x, const float* bias, std::int64_t n, float* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(Softplus(d, hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, bias + i))), d, out + i);
  });
}

void DecayRow(const float* x, const float* rates, std::int64_t n, float* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(Exp(d, hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, rates + i))), d, out + i);
  });
}

void MulRow(const float* a, const float* b, std::int64_t n, float* out) {
  Sweep(n, [&](auto d, std::int64_t i)
               HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i); });
}

template <class T>
HWY_INLINE void ConvolveTo(std::span<const float* const> rows, const float* weights, std::int64_t stride,
                           const float* bias, const float* gate, std::int64_t n, T* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    const float* weight = weights + i;
    for (const float* row : rows) {
      if (row != nullptr) sum = hn::Add(sum, hn::Mul(hn::LoadU(d, weight), hn::LoadU(d, row + i)));
      weight += stride;
    }
    if (bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, bias + i));
    const auto result =
        gate != nullptr ? hn::Mul(sum, hn::LoadU(d, gate + i)) : SiluTimes()(d, sum, hn::Set(d, 1.0f));
    StoreAs(d, result, out + i);
  });
}

void ConvolveRow(std::span<const float* const> rows, const float* weights, std::int64_t stride,
                 const float* bias, const float* gate, std::int64_t n, InputForm form, void* out) {
  if (form == InputForm::BF16) {
    ConvolveTo(rows, weights, stride, bias, gate, n, static_cast<BF16*>(out));
  } else {
    ConvolveTo(rows, weights, stride, bias, gate, n, static_cast<float*>(out));
  }
}

void AddRow(float* y, const float* x, std::int64_t n) {
  Sweep(n, [&](auto d, std::int64_t i)
               HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, y + i); });
}

void AddScaledRow(float* y, const float* x, float scale, std::int64_t n) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Mul(hn::LoadU(d, x + i), hn::Set(d, scale))), d, y + i);
  });
}

void ScaleRow(float* y, float scale, std::int64_t n) {
  Sweep(n, [&](auto d, std::int64_t i)
               HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, y + i), hn::Set(d, scale)), d, y + i); });
}

/// tanh(v) = (1 - t) / (1 + t) of t = e^-2|v|, with v's sign.
void CapRow(float* y, float cap, std::int64_t n) {
  const float scale = 1.0f / cap;
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::Mul(hn::LoadU(d, y + i), hn::Set(d, scale));
    const auto one = hn::Set(d, 1.0f);
    const auto t = Exp(d, hn::Mul(hn::Abs(v), hn::Set(d, -2.0f)));
    const auto size = hn::Div(hn::Mul(hn::Set(d, cap), hn::Sub(one, t)), hn::Add(one, t));
    hn::StoreU(hn::CopySignToAbs(size, v), d, y + i);
  });
}

/// The largest element; NaN is passed over; -infinity when there is nothing else.
float RowMax(const float* x, std::int64_t n) {
  const DF d;
  constexpr int kChains = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<DF> best[kChains];
  for (auto& b : best) b = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto larger = [](auto a, auto b) HWY_ATTR { return hn::IfThenElse(hn::Lt(a, b), b, a); };
  std::int64_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
    for (int c = 0; c < kChains; ++c) best[c] = larger(best[c], hn::LoadU(d, x + i + c * lanes));
  }
  best[0] = larger(larger(best[0], best[1]), larger(best[2], best[3]));
  float lane[16];
  hn::StoreU(best[0], d, lane);
  float result = lane[0];
  for (std::int64_t l = 1; l < lanes; ++l) result = lane[l] > result ? lane[l] : result;
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

/// First index whose element `test(tag, v)` marks, or n.
template <class Test>
HWY_INLINE std::int64_t FindFirst(const float* x, std::int64_t n, const Test& test) {
  const DF d;
  constexpr std::int64_t kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step = kVectors * lanes;
  std::int64_t i = 0;
  for (; i + step <= n; i += step) {
    auto any = test(d, hn::LoadU(d, x + i));
    for (std::int64_t j = 1; j < kVectors; ++j) any = hn::Or(any, test(d, hn::LoadU(d, x + i + j * lanes)));
    if (!hn::AllFalse(d, any)) break;
  }
  const DF1 d1;
  while (i < n && hn::AllFalse(d1, test(d1, hn::LoadU(d1, x + i)))) ++i;
  return i;
}

std::int64_t FindEqual(const float* x, std::int64_t n, float value) {
  return FindFirst(x, n, [&](auto d, auto v) HWY_ATTR { return hn::Eq(v, hn::Set(d, value)); });
}

std::int64_t FindInvalid(const float* x, std::int64_t n) {
  return FindFirst(x, n, [&](auto d, auto v) HWY_ATTR {
    return hn::Not(hn::Lt(v, hn::Set(d, std::numeric_limits<float>::infinity())));
  });
}

void ExpRow(const float* x, std::int64_t n, float shift, float scale, float* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)), hn::Set(d, scale));
    hn::StoreU(Exp(d, v), d, out + i);
  });
}

float SumExp(const float* x, std::int64_t n, float shift, float scale) {
  return Sum16(n, [&](auto d, std::int64_t i) HWY_ATTR {
    return Exp(d, hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)), hn::Set(d, scale)));
  });
}

void SoftmaxRow(const float* x, std::int64_t n, float shift, float scale, float* out) {
  ExpRow(x, n, shift, scale, out);
  const float sum = Sum16(n, [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, out + i); });
  const float inverse = 1.0f / sum;
  Sweep(n, [&](auto d, std::int64_t i)
               HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::Set(d, inverse)), d, out + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace augur
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace augur {

namespace {
/// What all row operations give.
[[maybe_unused]] bool gives(InputForm form) {
  return form != InputForm::Blocks16;
}
}  // namespace

HWY_EXPORT(RmsNorm);
HWY_EXPORT(SiluMul);
HWY_EXPORT(SiluMulPanels);
HWY_EXPORT(SigmoidMul);
HWY_EXPORT(ToBf16);
HWY_EXPORT(RopeRotate);
HWY_EXPORT(GeluMulPanels);
HWY_EXPORT(ClampedSwigluPanels);
HWY_EXPORT(SigmoidRow);
HWY_EXPORT(SoftplusRow);
HWY_EXPORT(DecayRow);
HWY_EXPORT(SquaredRelu);
HWY_EXPORT(MulRow);
HWY_EXPORT(ConvolveRow);
HWY_EXPORT(AddRow);
HWY_EXPORT(AddScaledRow);
HWY_EXPORT(ScaleRow);
HWY_EXPORT(CapRow);
HWY_EXPORT(RowMax);
HWY_EXPORT(FindEqual);
HWY_EXPORT(FindInvalid);
HWY_EXPORT(ExpRow);
HWY_EXPORT(SumExp);
HWY_EXPORT(SoftmaxRow);

void limit_ops_to(Isa isa) {
  const CpuFeatures& allowed = features(isa);
  std::int64_t disabled = 0;
  if (!allowed.has(CpuFeature::Avx2)) disabled |= HWY_AVX2;
  if (!allowed.has(CpuFeature::Avx512)) disabled |= HWY_AVX3 | HWY_AVX3_DL;
  hwy::DisableTargets(disabled);
}

void rms_norm(const float* x, const float* weight, float eps, std::int64_t n, InputForm form, void* out) {
  assert(n > 0);
  auto* blocks = static_cast<QuantBlock*>(out);
  if (form == InputForm::Blocks8) return rms_norm_quantized(x, weight, eps, n, blocks);
  if (form == InputForm::Blocks16) return rms_norm_quantized(x, weight, eps, n, blocks, fine_rest(blocks, n));
  HWY_DYNAMIC_DISPATCH(RmsNorm)(x, weight, eps, n, form, out);
}

void silu_mul(const float* gate, const float* up, std::int64_t n, InputForm form, void* out) {
  assert(gives(form));
  if (form == InputForm::Blocks8) return silu_mul_quantized(gate, up, n, static_cast<QuantBlock*>(out));
  HWY_DYNAMIC_DISPATCH(SiluMul)(gate, up, n, form, out);
}

void silu_mul_panels(const float* gate_up, std::int64_t pairs, InputForm form, void* out) {
  assert(gives(form));
  if (form == InputForm::Blocks8) {
    return silu_mul_panels_quantized(gate_up, pairs, static_cast<QuantBlock*>(out));
  }
  HWY_DYNAMIC_DISPATCH(SiluMulPanels)(gate_up, pairs, form, out);
}

void gelu_mul_panels(const float* gate_up, std::int64_t pairs, InputForm form, void* out) {
  assert(gives(form));
  if (form == InputForm::Blocks8) {
    return gelu_mul_panels_quantized(gate_up, pairs, static_cast<QuantBlock*>(out));
  }
  HWY_DYNAMIC_DISPATCH(GeluMulPanels)(gate_up, pairs, form, out);
}

void clamped_swiglu_panels(const float* gate_up, std::int64_t pairs, InputForm form, void* out) {
  assert(gives(form));
  if (form == InputForm::Blocks8) {
    return clamped_swiglu_panels_quantized(gate_up, pairs, static_cast<QuantBlock*>(out));
  }
  HWY_DYNAMIC_DISPATCH(ClampedSwigluPanels)(gate_up, pairs, form, out);
}

void squared_relu(const float* x, std::int64_t n, InputForm form, void* out) {
  assert(gives(form));
  if (form == InputForm::Blocks8) return squared_relu_quantized(x, n, static_cast<QuantBlock*>(out));
  HWY_DYNAMIC_DISPATCH(SquaredRelu)(x, n, form, out);
}

void convert_row(const float* x, std::int64_t n, InputForm form, void* out) {
  auto* blocks = static_cast<QuantBlock*>(out);
  if (form == InputForm::Blocks8) return quantize_row(x, n, blocks);
  if (form == InputForm::Blocks16) return quantize_row_fine(x, n, blocks, fine_rest(blocks, n));
  if (form == InputForm::BF16) {
    HWY_DYNAMIC_DISPATCH(ToBf16)(x, n, static_cast<BF16*>(out));
  } else if (out != x) {
    std::memcpy(out, x, static_cast<std::size_t>(n) * sizeof(float));
  }
}

void rope_rotate(float* x, const float* cos, const float* sin, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(RopeRotate)(x, cos, sin, n);
}

void add_row(float* y, const float* x, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(AddRow)(y, x, n);
}

void sigmoid_mul(const float* gate, const float* x, std::int64_t n, InputForm form, void* out) {
  assert(form == InputForm::F32 || form == InputForm::BF16);
  HWY_DYNAMIC_DISPATCH(SigmoidMul)(gate, x, n, form, out);
}

void sigmoid_row(const float* x, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(SigmoidRow)(x, n, out);
}
void softplus_row(const float* x, const float* bias, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(SoftplusRow)(x, bias, n, out);
}
void decay_row(const float* x, const float* rates, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(DecayRow)(x, rates, n, out);
}

void mul_row(const float* a, const float* b, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(MulRow)(a, b, n, out);
}
void convolve_row(std::span<const float* const> rows, const float* weights, std::int64_t stride,
                  const float* bias, const float* gate, std::int64_t n, InputForm form, void* out) {
  assert(form == InputForm::F32 || form == InputForm::BF16);
  HWY_DYNAMIC_DISPATCH(ConvolveRow)(rows, weights, stride, bias, gate, n, form, out);
}
void add_scaled_row(float* y, const float* x, float scale, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(AddScaledRow)(y, x, scale, n);
}

void scale_row(float* y, float scale, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(ScaleRow)(y, scale, n);
}

void cap_row(float* y, float cap, std::int64_t n) {
  assert(cap > 0.0f);
  HWY_DYNAMIC_DISPATCH(CapRow)(y, cap, n);
}

std::int64_t argmax(const float* x, std::int64_t n) {
  assert(n >= 1);
  const float max = HWY_DYNAMIC_DISPATCH(RowMax)(x, n);
  // All are -infinity or NaN, that is equal.
  if (max == -std::numeric_limits<float>::infinity()) return 0;
  return HWY_DYNAMIC_DISPATCH(FindEqual)(x, n, max);
}

std::int64_t first_invalid_logit(const float* x, std::int64_t n) {
  const std::int64_t found = HWY_DYNAMIC_DISPATCH(FindInvalid)(x, n);
  return found < n ? found : -1;
}

void exp_row(const float* x, std::int64_t n, float shift, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(ExpRow)(x, n, shift, scale, out);
}

float sum_exp(const float* x, std::int64_t n, float shift, float scale) {
  return HWY_DYNAMIC_DISPATCH(SumExp)(x, n, shift, scale);
}

float log_sum_exp(const float* x, std::int64_t n) {
  const float max = HWY_DYNAMIC_DISPATCH(RowMax)(x, n);
  if (std::isinf(max)) return max;
  return max + static_cast<float>(elementary::log(sum_exp(x, n, max, 1.0f)));
}

void softmax(const float* x, std::int64_t n, float scale, float* out) {
  const float max = HWY_DYNAMIC_DISPATCH(RowMax)(x, n);
  HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x, n, max, scale, out);
}

}  // namespace augur
#endif  // HWY_ONCE
