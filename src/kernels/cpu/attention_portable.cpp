#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "kernels/cpu/attention_blocked.h"

namespace augur {
namespace {

struct Portable {
  struct F {
    float v[kLanes];
  };
  struct U {
    std::uint32_t v[kLanes];
  };
#ifdef AUGUR_SMALL_TILES
  static constexpr int kTileRows = 1;
#else
  static constexpr int kTileRows = 4;
#endif
  static constexpr int kRowsF32 = kTileRows, kPanelsF32 = 1, kSumRowsF32 = kTileRows, kSumColumnsF32 = 1;
  static constexpr int kRowsBf16 = kTileRows, kPanelsBf16 = 1, kSumRowsBf16 = kTileRows, kSumColumnsBf16 = 1;

  template <class G>
  static F each(const G& g) {
    F r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = g(i);
    return r;
  }
  template <class G>
  static U each_unit(const G& g) {
    U r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = g(i);
    return r;
  }
  static float to_float(std::uint32_t bits) {
    float v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }
  static std::uint32_t to_bits(float v) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    return bits;
  }

  static F zero() {
    return F{};
  }
  static U zero_units() {
    return U{};
  }
  static F splat(float v) {
    return each([&](int) { return v; });
  }
  static F load(const float* p) {
    F r;
    std::memcpy(r.v, p, sizeof r.v);
    return r;
  }
  static void store(float* p, F a) {
    std::memcpy(p, a.v, sizeof a.v);
  }
  static void store_part(float* p, F a, int n) {
    std::memcpy(p, a.v, sizeof(float) * static_cast<unsigned>(n));
  }
  /// Signed bytes as floats.
  static F load_bytes(const void* p) {
    const auto* bytes = static_cast<const signed char*>(p);
    return each([&](int i) { return static_cast<float>(bytes[i]); });
  }
  /// p[0], p[1], p[0], p[1], ...
  static F splat_pair(const float* p) {
    return each([&](int i) { return p[i % 2]; });
  }
  static U load_units(const void* p) {
    U r;
    std::memcpy(r.v, p, sizeof r.v);
    return r;
  }
  static U load_units_part(const void* p, int n) {
    U r = {};
    std::memcpy(r.v, p, sizeof(std::uint32_t) * static_cast<unsigned>(n));
    return r;
  }
  static U splat_unit(const float* p) {
    std::uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return each_unit([&](int) { return v; });
  }
  static U bf16_ones() {
    return each_unit([](int) { return 0x3f803f80u; });
  }
  static F as_float(U a) {
    return each([&](int i) { return to_float(a.v[i]); });
  }
  static F even(U a) {
    return each([&](int i) { return to_float(a.v[i] << 16); });
  }
  static F odd(U a) {
    return each([&](int i) { return to_float(a.v[i] & 0xffff0000u); });
  }
  static U join(U a, std::int64_t a_odd, U b, std::int64_t b_odd) {
    return each_unit(
        [&](int i) { return ((a.v[i] >> (16 * a_odd)) & 0xffffu) | ((b.v[i] >> (16 * b_odd)) << 16); });
  }

  static F add(F a, F b) {
    return each([&](int i) { return a.v[i] + b.v[i]; });
  }
  static F sub(F a, F b) {
    return each([&](int i) { return a.v[i] - b.v[i]; });
  }
  static F mul(F a, F b) {
    return each([&](int i) { return a.v[i] * b.v[i]; });
  }
  static F div(F a, F b) {
    return each([&](int i) { return a.v[i] / b.v[i]; });
  }
  static F max(F a, F b) {
    return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F fma(F a, F b, F c) {
    return each([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }
  /// Lane i gets lane i ^ distance.
  template <int distance>
  static F swap(F a) {
    return each([&](int i) { return a.v[i ^ distance]; });
  }
  static float first_lane(F a) {
    return a.v[0];
  }
  static F zero_unless_at_least(F x, F limit, F p) {
    return each([&](int i) { return x.v[i] >= limit.v[i] ? p.v[i] : 0.0f; });
  }
  static F scale_by_power(F p, F shifted) {
    return each([&](int i) { return to_float(to_bits(p.v[i]) + (to_bits(shifted.v[i]) << 23)); });
  }

  static std::uint16_t round(float v) {
    return to_bf16(v).bits;
  }
  static void store_bf16(void* out, F low, F high) {
    store_bf16_part(out, low, kLanes);
    store_bf16_part(static_cast<char*>(out) + 2 * kLanes, high, kLanes);
  }
  static void store_bf16_part(void* out, F a, int n) {
    std::uint16_t r[kLanes];
    for (int i = 0; i < kLanes; ++i) r[i] = round(a.v[i]);
    std::memcpy(out, r, sizeof(std::uint16_t) * static_cast<unsigned>(n));
  }
};

}  // namespace

void attend_f32_portable(const AttentionItem& item) {
  Attention<Portable, MacF32<Portable>>(item).run();
}
void attend_bf16_portable(const AttentionItem& item) {
  Attention<Portable, MacBf16<Portable>>(item).run();
}

}  // namespace augur
