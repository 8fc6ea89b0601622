#pragma once
// The inputs of the golden vectors, by their names alone (docs/law.md#golden-vectors): another implementation
// can make them from Philox and these few lines.
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fnv1a.h"
#include "base/philox.h"

namespace augur::law {

inline std::uint32_t bits_of(float v) {
  return std::bit_cast<std::uint32_t>(v);
}
inline float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// Sign and fraction of `word`, exponent lowest + 0..7; lowest from -126 on.
inline float spread(std::uint32_t word, int lowest) {
  const std::uint32_t exponent = 127u + static_cast<std::uint32_t>(lowest) + (word >> 23) % 8;
  return float_of((word & 0x807fffffu) | (exponent << 23));
}

/// What arithmetic treats apart: zeros, the smallest and largest subnormals and normal numbers of both types,
/// ties of rounding to bf16, the ends of what row operations' exponentials take.
inline constexpr std::array<std::uint32_t, 32> kFinite = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00010000, 0x807f0000, 0x007fffff, 0x807fffff,
    0x00800000, 0x80800000, 0x00800001, 0x00ffffff, 0x01000000, 0x0d7fffff, 0x0d800000, 0x8d800000,
    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f808000, 0x3f818000, 0xbf808000, 0x3f808001,
    0x42ae0000, 0xc2ae0000, 0x42b00000, 0xc2b00000, 0x4b800001, 0x7f7f8000, 0x7f7fffff, 0xff7fffff};
inline constexpr std::array<std::uint32_t, 4> kNoNumbers = {0x7f800000, 0xff800000, 0x7fc00000, 0xff800001};

/// Numbers of one case: word i is word i % 4 of Philox4x32-10 with the FNV-1a hash of the case's name as key
/// and counter (i / 4, 0, 0, 0).
class Inputs {
 public:
  explicit Inputs(std::string_view name) {
    Fnv1a hash;
    hash.add_bytes(name);
    key_ = hash.value();
  }

  std::uint32_t word() {
    if (used_ % 4 == 0) block_ = philox4x32({used_ / 4, 0, 0, 0}, key_);
    return block_[used_++ % 4];
  }
  float value(int lowest = -6) { return spread(word(), lowest); }
  std::vector<float> values(std::int64_t n, int lowest = -6) {
    std::vector<float> all(static_cast<std::size_t>(n));
    for (float& v : all) v = value(lowest);
    return all;
  }
  /// Values of which every third is one of kFinite, in their order.
  std::vector<float> edges(std::int64_t n) {
    std::vector<float> all = values(n);
    for (std::size_t i = 0; i < all.size(); i += 3) all[i] = float_of(kFinite[i / 3 % kFinite.size()]);
    return all;
  }
  std::vector<std::byte> bytes(std::int64_t n) {
    std::vector<std::byte> all(static_cast<std::size_t>(n));
    for (std::byte& b : all) b = static_cast<std::byte>(word() & 0xffu);
    return all;
  }

 private:
  std::uint64_t key_;
  std::uint32_t used_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

}  // namespace augur::law
