#include "kernels/recurrence.h"

#include <cmath>
#include <type_traits>

// clang-format off: the order matters
#include "kernels/ops_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrence.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd_math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace augur {
namespace HWY_NAMESPACE {

/// Calls part(tag, count, first column) with `count` (a constant) vectors of the tag side by side.
template <class Part>
HWY_INLINE void SweepColumns(std::int64_t columns, const Part& part) {
  const DF d;
  constexpr int kWide = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + kWide * lanes <= columns; c += kWide * lanes) part(d, std::integral_constant<int, kWide>(), c);
  for (; c + lanes <= columns; c += lanes) part(d, std::integral_constant<int, 1>(), c);
  for (; c < columns; ++c) part(DF1(), std::integral_constant<int, 1>(), c);
}

void DeltaToken(float* state, std::int64_t keys, std::int64_t columns, const float* q, const float* k,
                const float* v, float alpha, float beta, float* d_out, float* out) {
  SweepColumns(columns, [&](auto d, auto count, std::int64_t c) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    using V = hn::Vec<decltype(d)>;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    V read[kCount];
    for (auto& r : read) r = hn::Zero(d);
    float* row = state + c;
    for (std::int64_t i = 0; i < keys; ++i, row += columns) {
      for (int j = 0; j < kCount; ++j) {
        const V s = hn::Mul(hn::LoadU(d, row + j * lanes), hn::Set(d, alpha));
        hn::StoreU(s, d, row + j * lanes);
        read[j] = hn::Add(read[j], hn::Mul(s, hn::Set(d, k[i])));
      }
    }
    V delta[kCount];
    V sum[kCount];
    for (int j = 0; j < kCount; ++j) {
      const V error = hn::Sub(hn::LoadU(d, v + c + j * lanes), read[j]);
      delta[j] = hn::Mul(error, hn::Set(d, beta));
      hn::StoreU(delta[j], d, d_out + c + j * lanes);
      sum[j] = hn::Zero(d);
    }
    row = state + c;
    for (std::int64_t i = 0; i < keys; ++i, row += columns) {
      for (int j = 0; j < kCount; ++j) {
        const V s = hn::Add(hn::LoadU(d, row + j * lanes), hn::Mul(delta[j], hn::Set(d, k[i])));
        hn::StoreU(s, d, row + j * lanes);
        sum[j] = hn::Add(sum[j], hn::Mul(s, hn::Set(d, q[i])));
      }
    }
    for (int j = 0; j < kCount; ++j) hn::StoreU(sum[j], d, out + c + j * lanes);
  });
}

void MambaToken(float* state, std::int64_t keys, std::int64_t columns, const float* q, const float* k,
                const float* v, float alpha, float step, float skip, float* d_out, float* out) {
  SweepColumns(columns, [&](auto d, auto count, std::int64_t c) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    using V = hn::Vec<decltype(d)>;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    V delta[kCount];
    V skipped[kCount];
    V sum[kCount];
    for (int j = 0; j < kCount; ++j) {
      const V value = hn::LoadU(d, v + c + j * lanes);
      delta[j] = hn::Mul(value, hn::Set(d, step));
      skipped[j] = hn::Mul(value, hn::Set(d, skip));
      hn::StoreU(delta[j], d, d_out + c + j * lanes);
      sum[j] = hn::Zero(d);
    }
    float* row = state + c;
    for (std::int64_t i = 0; i < keys; ++i, row += columns) {
      for (int j = 0; j < kCount; ++j) {
        const V kept = hn::Mul(hn::LoadU(d, row + j * lanes), hn::Set(d, alpha));
        const V s = hn::Add(kept, hn::Mul(delta[j], hn::Set(d, k[i])));
        hn::StoreU(s, d, row + j * lanes);
        sum[j] = hn::Add(sum[j], hn::Mul(s, hn::Set(d, q[i])));
      }
    }
    for (int j = 0; j < kCount; ++j) hn::StoreU(hn::Add(sum[j], skipped[j]), d, out + c + j * lanes);
  });
}

void ReplayState(float* state, std::int64_t keys, std::int64_t columns, const float* k, const float* d_in,
                 float alpha) {
  SweepColumns(columns, [&](auto d, auto count, std::int64_t c) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    using V = hn::Vec<decltype(d)>;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    V delta[kCount];
    for (int j = 0; j < kCount; ++j) delta[j] = hn::LoadU(d, d_in + c + j * lanes);
    float* row = state + c;
    for (std::int64_t i = 0; i < keys; ++i, row += columns) {
      for (int j = 0; j < kCount; ++j) {
        const V s = hn::Mul(hn::LoadU(d, row + j * lanes), hn::Set(d, alpha));
        hn::StoreU(hn::Add(s, hn::Mul(delta[j], hn::Set(d, k[i]))), d, row + j * lanes);
      }
    }
  });
}

void UnitRow(const float* x, std::int64_t n, float eps, float scale, float* out) {
  const float squares = Sum16(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    return hn::Mul(v, v);
  });
  const float factor = scale / std::sqrt(squares + eps);
  Sweep(n, [&](auto d, std::int64_t i)
               HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, out + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace augur
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace augur {

HWY_EXPORT(DeltaToken);
HWY_EXPORT(MambaToken);
HWY_EXPORT(ReplayState);
HWY_EXPORT(UnitRow);

void delta_token(float* state, std::int64_t keys, std::int64_t columns, const float* q, const float* k,
                 const float* v, float alpha, float beta, float* d, float* out) {
  HWY_DYNAMIC_DISPATCH(DeltaToken)(state, keys, columns, q, k, v, alpha, beta, d, out);
}

void mamba_token(float* state, std::int64_t keys, std::int64_t columns, const float* q, const float* k,
                 const float* v, float alpha, float step, float skip, float* d, float* out) {
  HWY_DYNAMIC_DISPATCH(MambaToken)(state, keys, columns, q, k, v, alpha, step, skip, d, out);
}

void replay_state(float* state, std::int64_t keys, std::int64_t columns, const float* k, const float* d,
                  float alpha) {
  HWY_DYNAMIC_DISPATCH(ReplayState)(state, keys, columns, k, d, alpha);
}

void unit_row(const float* x, std::int64_t n, float eps, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(UnitRow)(x, n, eps, scale, out);
}

}  // namespace augur
#endif
