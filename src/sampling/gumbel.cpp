#include "sampling/gumbel.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "base/philox.h"

// clang-format off: the order matters
#include "kernels/ops_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/gumbel.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd_math-inl.h"
// clang-format on

#ifndef AUGUR_SAMPLING_GUMBEL_ONCE
#define AUGUR_SAMPLING_GUMBEL_ONCE
namespace augur::gumbel_detail {

/// Fourth counter word: keeps this stream apart from other uses of Philox under the same seed.
inline constexpr std::uint32_t kDomain = 0x67756d62;  // "gumb"

inline std::array<std::uint32_t, 4> block(std::uint64_t seed, std::int64_t position, std::uint32_t index) {
  const auto p = static_cast<std::uint64_t>(position);
  return philox4x32({index, static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(p >> 32), kDomain},
                    seed);
}

}  // namespace augur::gumbel_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace augur {
namespace HWY_NAMESPACE {

/// G from 32 random bits. With s = (min(bits, ~bits) + 1/2) / 2^32, U = 1 - s in the lower half of the bits
/// and s in the upper: small bits are the long upper tail of G. There, -log U = -log1p(-s), where -s itself
/// is the argument of LogParts: nothing is lost to 1 - s.
template <class DI>
HWY_INLINE hn::Vec<hn::Rebind<float, DI>> GumbelFromBits(DI di, hn::Vec<DI> bits) {
  const hn::Rebind<float, DI> d;
  constexpr std::int32_t kDirect = 1257966796;  // (1 - sqrt(1/2)) * 2^32: below it log1p needs no exponent
  const auto sign = hn::ShiftRight<31>(bits);
  const auto near = hn::Xor(bits, sign);
  const auto s = hn::Mul(hn::Add(hn::ConvertTo(d, near), hn::Set(d, 0.5f)), hn::Set(d, 0x1p-32f));
  const auto upper = hn::RebindMask(d, hn::Lt(bits, hn::Zero(di)));
  const auto direct = hn::AndNot(upper, hn::RebindMask(d, hn::Lt(bits, hn::Set(di, kDirect))));
  const auto u = hn::IfThenElse(upper, s, hn::Sub(hn::Set(d, 1.0f), s));
  hn::Vec<decltype(d)> exponent;
  hn::Vec<decltype(d)> f;
  SplitForLog(d, u, exponent, f);
  exponent = hn::IfThenElse(direct, hn::Zero(d), exponent);
  f = hn::IfThenElse(direct, hn::Neg(s), f);
  return hn::Neg(Log(d, hn::Neg(LogParts(d, exponent, f))));
}

void GumbelFromBitsRow(const std::uint32_t* bits, std::int64_t n, float* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto v = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(bits) + i);
    hn::StoreU(GumbelFromBits(di, v), d, out + i);
  });
}

#if HWY_TARGET == HWY_SCALAR

/// Fills tokens [4 * first, 4 * (first + count)).
void PhiloxBits(std::uint64_t seed, std::int64_t position, std::uint32_t first, std::int64_t count,
                std::uint32_t* out) {
  for (std::int64_t b = 0; b < count; ++b) {
    const auto words = gumbel_detail::block(seed, position, first + static_cast<std::uint32_t>(b));
    std::copy(words.begin(), words.end(), out + 4 * b);
  }
}

#else

/// Fills tokens [4 * first, 4 * (first + count)); count is a multiple of 8. One block of Philox per 64-bit
/// lane; the upper halves of the lanes hold rubbish that the multiplications do not see.
void PhiloxBits(std::uint64_t seed, std::int64_t position, std::uint32_t first, std::int64_t count,
                std::uint32_t* out) {
  const hn::CappedTag<std::uint64_t, 8> d64;
  const hn::Repartition<std::uint32_t, decltype(d64)> d32;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d64));
  const auto times = [&](auto word, auto factor)
                         HWY_ATTR { return hn::MulEven(hn::BitCast(d32, word), hn::BitCast(d32, factor)); };
  // Lane 2b holds block b and lane 2b + 1 block lanes/2 + b, so that interleaving within 128 bits at the end
  // puts the blocks in order.
  alignas(64) std::uint64_t order[8];
  for (std::int64_t l = 0; l < lanes; ++l) order[l] = static_cast<std::uint64_t>(l / 2 + l % 2 * lanes / 2);
  const auto lane_order = hn::Load(d64, order);
  const auto p = static_cast<std::uint64_t>(position);
  const auto m0 = hn::Set(d64, 0xD2511F53u);
  const auto m1 = hn::Set(d64, 0xCD9E8D57u);
  const auto low = hn::Set(d64, 0xffffffffu);
  for (std::int64_t b = 0; b < count; b += lanes) {
    auto c0 = hn::Add(lane_order, hn::Set(d64, first + static_cast<std::uint64_t>(b)));
    auto c1 = hn::Set(d64, p & 0xffffffffu);
    auto c2 = hn::Set(d64, p >> 32);
    auto c3 = hn::Set(d64, gumbel_detail::kDomain);
    auto k0 = static_cast<std::uint32_t>(seed);
    auto k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto p0 = times(c0, m0);
      const auto p1 = times(c2, m1);
      c0 = hn::Xor3(hn::ShiftRight<32>(p1), c1, hn::Set(d64, k0));
      c1 = p1;
      c2 = hn::Xor3(hn::ShiftRight<32>(p0), c3, hn::Set(d64, k1));
      c3 = p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const auto w01 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
    const auto w23 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    std::uint32_t* to = out + 4 * b;
    hn::StoreU(hn::BitCast(d32, hn::InterleaveLower(d64, w01, w23)), d32, to);
    hn::StoreU(hn::BitCast(d32, hn::InterleaveUpper(d64, w01, w23)), d32, to + 2 * lanes);
  }
}

#endif

void GumbelRange(std::uint64_t seed, std::int64_t position, std::int64_t first, float* out, std::int64_t n) {
  constexpr std::int64_t kChunk = 512;
  alignas(64) std::uint32_t bits[kChunk];
  for (std::int64_t x = 0; x < n; x += kChunk) {
    const std::int64_t count = std::min(kChunk, n - x);
    PhiloxBits(seed, position, static_cast<std::uint32_t>((first + x) / 4), (count + 31) / 32 * 8, bits);
    GumbelFromBitsRow(bits, count, out + x);
  }
}

/// The largest score, and with `find` the index of the first element that has the score `value`.
float BestScore(const float* x, std::int64_t n, float shift, float scale, const float* noise) {
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto scaled = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)), hn::Set(d, scale));
    const auto score = hn::Add(scaled, hn::LoadU(d, noise + i));
    best = hn::IfThenElse(hn::Lt(best, score), score, best);
  }
  float lane[16];
  hn::StoreU(best, d, lane);
  float result = lane[0];
  for (std::int64_t l = 1; l < lanes; ++l) result = std::max(result, lane[l]);
  for (; i < n; ++i) result = std::max(result, noisy_score(x[i], shift, scale, noise[i]));
  return result;
}

std::int64_t FindScore(const float* x, std::int64_t n, float shift, float scale, const float* noise,
                       float value) {
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto scaled = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)), hn::Set(d, scale));
    const auto score = hn::Add(scaled, hn::LoadU(d, noise + i));
    if (!hn::AllFalse(d, hn::Eq(score, hn::Set(d, value)))) break;
  }
  while (i < n - 1 && noisy_score(x[i], shift, scale, noise[i]) != value) ++i;
  return i;
}

void AddNoise(const float* x, std::int64_t n, float lowest, float scale, const float* noise, float* out) {
  Sweep(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto score = hn::Add(hn::Mul(v, hn::Set(d, scale)), hn::LoadU(d, noise + i));
    const auto kept = hn::Ge(v, hn::Set(d, lowest));
    hn::StoreU(hn::IfThenElse(kept, score, hn::Set(d, -std::numeric_limits<float>::infinity())), d, out + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace augur
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace augur {

HWY_EXPORT(GumbelRange);
HWY_EXPORT(GumbelFromBitsRow);
HWY_EXPORT(BestScore);
HWY_EXPORT(FindScore);
HWY_EXPORT(AddNoise);

void gumbel_range(std::uint64_t seed, std::int64_t position, TokenId first, std::span<float> out) {
  assert(first % 4 == 0);
  HWY_DYNAMIC_DISPATCH(GumbelRange)(seed, position, first, out.data(), static_cast<std::int64_t>(out.size()));
}

void gumbel_at(std::uint64_t seed, std::int64_t position, std::span<const TokenId> tokens, float* out) {
  std::array<std::uint32_t, 64> bits;
  for (std::size_t begin = 0; begin < tokens.size(); begin += bits.size()) {
    const auto part = tokens.subspan(begin, std::min(bits.size(), tokens.size() - begin));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto token = static_cast<std::uint32_t>(part[i]);
      bits[i] = gumbel_detail::block(seed, position, token / 4)[token % 4];
    }
    HWY_DYNAMIC_DISPATCH(GumbelFromBitsRow)(bits.data(), static_cast<std::int64_t>(part.size()), out + begin);
  }
}

std::int64_t argmax_with_noise(std::span<const float> x, float shift, float scale, const float* noise) {
  const auto n = static_cast<std::int64_t>(x.size());
  const float best = HWY_DYNAMIC_DISPATCH(BestScore)(x.data(), n, shift, scale, noise);
  return HWY_DYNAMIC_DISPATCH(FindScore)(x.data(), n, shift, scale, noise, best);
}

void add_noise(std::span<const float> x, float lowest, float scale, const float* noise, float* out) {
  HWY_DYNAMIC_DISPATCH(AddNoise)(x.data(), std::ssize(x), lowest, scale, noise, out);
}

}  // namespace augur
#endif  // HWY_ONCE
