#include <cstring>

// clang-format off: the order matters
#include "kernels/ops_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/kv_expand.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd_math-inl.h"
// clang-format on

#include "kernels/kv_quant.h"

HWY_BEFORE_NAMESPACE();
namespace augur {
namespace HWY_NAMESPACE {

/// Elements that a line of scales belongs to.
constexpr std::int64_t kLine = 32;

/// out[i] = bf16(q[i] * scales[i]), rounded to nearest even.
HWY_INLINE void ExpandLine(const std::int8_t* q, const float* scales, std::uint16_t* out) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const hn::RebindToUnsigned<DF> du;
  const hn::Rebind<std::int8_t, DF> d8;
  const hn::Rebind<std::uint16_t, DF> d16;
  constexpr std::int64_t kLanes = hn::MaxLanes(DF());
  const auto half = hn::Set(du, 0x7fffu);
  const auto one = hn::Set(du, 1u);
  for (std::int64_t i = 0; i < kLine; i += kLanes) {
    const auto value =
        hn::Mul(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, q + i))), hn::LoadU(d, scales + i));
    const auto bits = hn::BitCast(du, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), one);
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(half, odd)));
    hn::StoreU(hn::TruncateTo(d16, rounded), d16, out + i);
  }
}

void ExpandKeys(const std::byte* panel, int head_dim, std::uint16_t* out) {
  const auto* q = reinterpret_cast<const std::int8_t*>(panel);
  const auto* scales = reinterpret_cast<const float*>(panel + kv_quant_scales_at(head_dim));
  for (int block = 0; block < head_dim / 32; ++block) {
    float pairs[kLine];  // columns, each twice
    for (std::int64_t i = 0; i < kLine; ++i) pairs[i] = scales[block * 16 + i / 2];
    for (int unit = 0; unit < 16; ++unit) {
      ExpandLine(q, pairs, out);
      q += kLine;
      out += kLine;
    }
  }
}

void ExpandValues(const std::byte* panel, int head_dim, std::uint16_t* out) {
  const auto* q = reinterpret_cast<const std::int8_t*>(panel);
  const auto* scales = reinterpret_cast<const float*>(panel + kv_quant_scales_at(head_dim));
  for (int pair = 0; pair < 8; ++pair) {
    for (int block = 0; block < head_dim / 32; ++block) {
      float slots[kLine];  // the pair's scales by turns
      for (std::int64_t i = 0; i < kLine; ++i) slots[i] = scales[block * 16 + 2 * pair + i % 2];
      for (int half = 0; half < 2; ++half) {
        ExpandLine(q, slots, out);
        q += kLine;
        out += kLine;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace augur
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace augur {

HWY_EXPORT(ExpandKeys);
HWY_EXPORT(ExpandValues);

void kv_expand_keys(const std::byte* panel, int head_dim, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(ExpandKeys)(panel, head_dim, out);
}
void kv_expand_values(const std::byte* panel, int head_dim, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(ExpandValues)(panel, head_dim, out);
}

}  // namespace augur
#endif
