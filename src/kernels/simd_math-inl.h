// Elementwise mathematics on Highway vectors, included once per target. Multiplications and additions are
// rounded separately, so every target and every vector length gives the same bits (docs/law.md). Polynomials
// are summed pairwise: their latency, not their operations, is what costs.

#if defined(AUGUR_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef AUGUR_KERNELS_SIMD_MATH_INL_H_
#undef AUGUR_KERNELS_SIMD_MATH_INL_H_
#else
#define AUGUR_KERNELS_SIMD_MATH_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace augur {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Up to 16 lanes: the partial sums of a reduction fill whole vectors of every target.
using DF = hn::CappedTag<float, 16>;
using DF1 = hn::CappedTag<float, 1>;

/// Calls f(tag, i) for whole vectors, then for single elements.
template <class F>
HWY_INLINE void Sweep(std::int64_t n, const F& f) {
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  for (; i < n; ++i) f(DF1(), i);
}

/// Sum of f(tag, i) over i < n in the order that docs/law.md states.
template <class F>
HWY_INLINE float Sum16(std::int64_t n, const F& f) {
  const DF d;
  constexpr std::int64_t kLanes = hn::MaxLanes(DF());
  constexpr std::int64_t kVectors = 16 / kLanes;
  hn::Vec<DF> acc[kVectors];
  for (std::int64_t j = 0; j < kVectors; ++j) acc[j] = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (std::int64_t j = 0; j < kVectors; ++j) acc[j] = hn::Add(acc[j], f(d, i + j * kLanes));
  }
  float partial[16];
  for (std::int64_t j = 0; j < kVectors; ++j) hn::StoreU(acc[j], d, partial + j * kLanes);
  for (; i < n; ++i) partial[i % 16] += hn::GetLane(f(DF1(), i));
  for (int half = 8; half >= 1; half /= 2) {
    for (int j = 0; j < half; ++j) partial[j] += partial[j + half];
  }
  return partial[0];
}

/// e^x within 2 ulp (the polynomial of Cephes' expf). 0 below -87; x counts as 88 above that. NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto linear = [&](float c0, float c1, V v)
                          HWY_ATTR { return hn::Add(hn::Set(d, c0), hn::Mul(hn::Set(d, c1), v)); };
  const V clamped = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.0f)), hn::Set(d, 88.0f), x);
  const V magic = hn::Set(d, 0x1.8p23f);  // adding it rounds to an integer, found in the low bits
  const V shifted = hn::Add(hn::Mul(clamped, hn::Set(d, 0x1.715476p0f)), magic);
  const V whole = hn::Sub(shifted, magic);
  V r = hn::Sub(clamped, hn::Mul(whole, hn::Set(d, 0.693359375f)));
  r = hn::Sub(r, hn::Mul(whole, hn::Set(d, -2.12194440e-4f)));
  const V r2 = hn::Mul(r, r);
  const V p01 = linear(5.0000001201e-1f, 1.6666665459e-1f, r);
  const V p23 = linear(4.1665795894e-2f, 8.3334519073e-3f, r);
  const V p45 = linear(1.3981999507e-3f, 1.9875691500e-4f, r);
  V p = hn::Add(p01, hn::Mul(r2, hn::Add(p23, hn::Mul(r2, p45))));
  p = hn::Add(hn::Mul(p, r2), hn::Add(r, hn::Set(d, 1.0f)));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  const V zeroed = hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.0f)), hn::Zero(d), result);
  return hn::IfThenElse(hn::Eq(x, x), zeroed, x);
}

/// silu(gate) * up, silu(v) = v / (1 + e^-v).
struct SiluTimes {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V gate, V up) const {
    const V divisor = hn::Add(Exp(d, hn::Neg(gate)), hn::Set(d, 1.0f));
    return hn::Mul(hn::Div(gate, divisor), up);
  }
};

/// gelu(gate) * up, see gelu_mul_panels().
struct GeluTimes {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V gate, V up) const {
    const V cubed = hn::Mul(hn::Mul(gate, gate), gate);
    const V u = hn::Add(gate, hn::Mul(cubed, hn::Set(d, 0.044715f)));
    const V divisor = hn::Add(Exp(d, hn::Mul(u, hn::Set(d, -1.5957691216057308f))), hn::Set(d, 1.0f));
    return hn::Mul(hn::Div(gate, divisor), up);
  }
};

/// See clamped_swiglu_panels().
struct ClampedSwiglu {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V gate, V up) const {
    const V limit = hn::Set(d, 7.0f);
    const V low_gate = hn::IfThenElse(hn::Gt(gate, limit), limit, gate);
    const V below = hn::IfThenElse(hn::Gt(up, limit), limit, up);
    const V within = hn::IfThenElse(hn::Lt(below, hn::Set(d, -7.0f)), hn::Set(d, -7.0f), below);
    const V one = hn::Set(d, 1.0f);
    const V divisor = hn::Add(Exp(d, hn::Mul(low_gate, hn::Set(d, -1.702f))), one);
    return hn::Mul(hn::Div(low_gate, divisor), hn::Add(within, one));
  }
};

/// See squared_relu().
struct SquareOfRelu {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V x) const {
    const V kept = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);  // a NaN stays one
    return hn::Mul(kept, kept);
  }
};

/// exponent * log(2) + log(1 + f), |f| small as in Cephes' logf: relative precision as f goes to 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogParts(D d, V exponent, V f) {
  const auto linear = [&](float c0, float c1, V v)
                          HWY_ATTR { return hn::Add(hn::Set(d, c0), hn::Mul(hn::Set(d, c1), v)); };
  const V square = hn::Mul(f, f);
  const V fourth = hn::Mul(square, square);
  const V p01 = linear(3.3333331174e-1f, -2.4999993993e-1f, f);
  const V p23 = linear(2.0000714765e-1f, -1.6668057665e-1f, f);
  const V p45 = linear(1.4249322787e-1f, -1.2420140846e-1f, f);
  const V p67 = linear(1.1676998740e-1f, -1.1514610310e-1f, f);
  const V low = hn::Add(p01, hn::Mul(square, p23));
  const V p678 = hn::Add(p67, hn::Mul(square, hn::Set(d, 7.0376836292e-2f)));
  V p = hn::Add(low, hn::Mul(fourth, hn::Add(p45, hn::Mul(square, p678))));
  p = hn::Mul(hn::Mul(p, f), square);
  p = hn::Add(p, hn::Mul(exponent, hn::Set(d, -2.12194440e-4f)));
  p = hn::Sub(p, hn::Mul(square, hn::Set(d, 0.5f)));
  return hn::Add(hn::Add(f, p), hn::Mul(exponent, hn::Set(d, 0.693359375f)));
}

/// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for positive normal x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void SplitForLog(D d, V x, V& exponent, V& f) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  exponent = hn::ConvertTo(d, e);
  f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))), hn::Set(d, 1.0f));
}

/// Natural logarithm of a positive normal number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  V exponent;
  V f;
  SplitForLog(d, x, exponent, f);
  return LogParts(d, exponent, f);
}

/// log(1 + t), 0 <= t <= 1. Relative precision as t goes to 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log1p(D d, V t) {
  const auto small = hn::Lt(t, hn::Set(d, 0.41421356f));  // 1 + t below sqrt(2)
  const V halved = hn::Mul(hn::Sub(t, hn::Set(d, 1.0f)), hn::Set(d, 0.5f));
  return LogParts(d, hn::IfThenElse(small, hn::Zero(d), hn::Set(d, 1.0f)), hn::IfThenElse(small, t, halved));
}

/// log(1 + e^x).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Softplus(D d, V x) {
  const V positive = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Zero(d));
  return hn::Add(positive, Log1p(d, Exp(d, hn::Neg(hn::Abs(x)))));
}

/// Rounds to bf16 as to_bf16() does, and stores the vector's lanes side by side.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreBf16(D /*d*/, V v, BF16* out) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40u));
  const auto is_number = hn::RebindMask(du, hn::Eq(v, v));
  hn::StoreU(hn::TruncateTo(d16, hn::IfThenElse(is_number, rounded, quiet)), d16,
             reinterpret_cast<std::uint16_t*>(out));
}

}  // namespace HWY_NAMESPACE
}  // namespace augur
HWY_AFTER_NAMESPACE();

#endif
