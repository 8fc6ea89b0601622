// Block layouts: ggml-common.h of llama.cpp, as the `gguf` Python package reads them. A product is rounded
// where that package rounds it.
#include "files/gguf/iq_blocks.h"

#include <bit>

#include "files/gguf/block_fields.h"
#include "files/gguf/iq_grids.h"

namespace augur {

namespace {

using U8 = std::uint8_t;

// What the places of a grid stand for.
constexpr U8 kTwoBits[4] = {0x08, 0x19, 0x2b, 0};
constexpr U8 kThreeBitsXxs[8] = {0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3e};
constexpr U8 kThreeBitsS[8] = {0x01, 0x03, 0x05, 0x07, 0x09, 0x0b, 0x0d, 0x0f};

float signed_by(float v, unsigned signs, int i) {
  return (signs >> i & 1u) != 0 ? -v : v;
}

/// Eight signs out of seven bits: their number is even.
unsigned even_signs(unsigned seven) {
  return seven | (static_cast<unsigned>(std::popcount(seven)) & 1u) << 7;
}

/// 8 values of a grid with 2 bits each.
void expand_two(float scale, std::uint16_t entry, unsigned signs, float* out) {
  for (int i = 0; i < 8; ++i) {
    out[i] = signed_by(scale * static_cast<float>(kTwoBits[entry >> (2 * i) & 3]), signs, i);
  }
}

/// 8 values of two entries of a grid with 3 bits each.
void expand_three(const U8 (&values)[8], float scale, std::uint16_t low, std::uint16_t high, unsigned signs,
                  float* out) {
  for (int i = 0; i < 8; ++i) {
    const std::uint16_t entry = i < 4 ? low : high;
    out[i] = signed_by(scale * static_cast<float>(values[entry >> (3 * (i % 4)) & 7]), signs, i);
  }
}

/// 8 values of -1, 0, 1 and what is added to all of them.
void expand_one(float scale, std::uint16_t entry, bool down, float* out) {
  const float delta = down ? -0.125f : 0.125f;
  for (int i = 0; i < 8; ++i) {
    out[i] = scale * (static_cast<float>((entry >> (2 * i) & 3) - 1) + delta);
  }
}

}  // namespace

// d; for 32 values 4 entries, then 4 times 7 bits of signs and a scale of 4.
void expand_iq2_xxs(const U8* b, float* out) {
  const float d = half_at(b);
  for (int group = 0; group < 8; ++group) {
    const U8* entries = b + 2 + group * 8;
    const auto rest = load<std::uint32_t>(entries + 4);
    const float scale = d * (0.5f + static_cast<float>(rest >> 28)) * 0.25f;
    for (int i = 0; i < 4; ++i) {
      expand_two(scale, kIq2XxsGrid[entries[i]], even_signs(rest >> (7 * i) & 127), out + group * 32 + i * 8);
    }
  }
}

// d; for 8 values an entry of 9 bits and 7 of signs; scales of 4 bits for 16.
void expand_iq2_xs(const U8* b, float* out) {
  const float d = half_at(b);
  for (int i = 0; i < 32; ++i) {
    const unsigned entry = load<std::uint16_t>(b + 2 + i * 2);
    const int stored = b[66 + i / 4] >> (i / 2 % 2 * 4) & 15;
    const float scale = d * (0.5f + static_cast<float>(stored)) * 0.25f;
    expand_two(scale, kIq2XsGrid[entry & 511], even_signs(entry >> 9), out + i * 8);
  }
}

// d; for 8 values 8 bits of an entry; 8 signs; the entries' upper bit pairs; scales of 4 bits for 16.
void expand_iq2_s(const U8* b, float* out) {
  const float d = half_at(b);
  for (int i = 0; i < 32; ++i) {
    const int entry = b[2 + i] | (b[66 + i / 4] >> (i % 4 * 2) & 3) << 8;
    const int stored = b[74 + i / 4] >> (i / 2 % 2 * 4) & 15;
    const float scale = d * (0.5f + static_cast<float>(stored)) * 0.25f;
    expand_two(scale, kIq2SGrid[entry], b[34 + i], out + i * 8);
  }
}

// d; for 4 values an entry; for 32 values 4 times 7 bits of signs and a scale of 4.
void expand_iq3_xxs(const U8* b, float* out) {
  const float d = half_at(b);
  for (int group = 0; group < 8; ++group) {
    const U8* entries = b + 2 + group * 8;
    const auto rest = load<std::uint32_t>(b + 66 + group * 4);
    const float scale = d * (0.5f + static_cast<float>(rest >> 28)) * 0.5f;
    for (int i = 0; i < 4; ++i) {
      expand_three(kThreeBitsXxs, scale, kIq3XxsGrid[entries[2 * i]], kIq3XxsGrid[entries[2 * i + 1]],
                   even_signs(rest >> (7 * i) & 127), out + group * 32 + i * 8);
    }
  }
}

// d; for 4 values 8 bits of an entry; the ninth bits; signs; scales of 4 bits for 32.
void expand_iq3_s(const U8* b, float* out) {
  const float d = half_at(b);
  const auto entry = [b](int i) { return kIq3SGrid[b[2 + i] | (b[66 + i / 8] >> (i % 8) & 1) << 8]; };
  for (int i = 0; i < 32; ++i) {
    const float scale = d * static_cast<float>(1 + 2 * (b[106 + i / 8] >> (i / 4 % 2 * 4) & 15));
    expand_three(kThreeBitsS, scale, entry(2 * i), entry(2 * i + 1), b[74 + i], out + i * 8);
  }
}

// d; for 8 values 8 bits of an entry; for 32 values 4 times 3 more bits, a scale of 3 and the sign of what is
// added.
void expand_iq1_s(const U8* b, float* out) {
  const float d = half_at(b);
  for (int group = 0; group < 8; ++group) {
    const int rest = load<std::uint16_t>(b + 34 + group * 2);
    const float scale = d * static_cast<float>(2 * (rest >> 12 & 7) + 1);
    for (int i = 0; i < 4; ++i) {
      const int entry = b[2 + group * 4 + i] | (rest >> (3 * i) & 7) << 8;
      expand_one(scale, kIq1Grid[entry], (rest & 0x8000) != 0, out + group * 32 + i * 8);
    }
  }
}

// For 8 values 8 bits of an entry; 3 more and the sign of what is added; 16 scales of 3 bits, in whose 4
// words the upper four bits are d.
void expand_iq1_m(const U8* b, float* out) {
  unsigned d_bits = 0;
  for (int word = 0; word < 4; ++word) {
    d_bits |= (unsigned{load<std::uint16_t>(b + 48 + word * 2)} >> 12) << (4 * word);
  }
  const float d = half_to_float(static_cast<std::uint16_t>(d_bits));
  for (int i = 0; i < 32; ++i) {
    const int stored = load<std::uint16_t>(b + 48 + i / 8 * 2) >> (i / 2 % 4 * 3) & 7;
    const int rest = b[32 + i / 2] >> (i % 2 * 4) & 15;
    expand_one(d * static_cast<float>(2 * stored + 1), kIq1Grid[b[i] | (rest & 7) << 8], (rest & 8) != 0,
               out + i * 8);
  }
}

}  // namespace augur
