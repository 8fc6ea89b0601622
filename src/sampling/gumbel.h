#pragma once
#include <cstdint>
#include <span>

#include "base/types.h"

namespace augur {

// The noise of Gumbel-max sampling: G(seed, position, token) = -log(-log(U)), U uniform in (0, 1) from
// Philox4x32-10 with key = seed and counter = (token / 4, position, position >> 32, domain), word token % 4.
// A token drawn as argmax(log p + G) has the law p, and depends on nothing but p, seed and position.
//
// U is the midpoint of one of 2^32 equal cells, evaluated from whichever end is nearer, so both tails are
// resolved: G lies in [kGumbelMin, kGumbelMax] and probabilities down to 2^-32 can be drawn. All functions
// give the same bits for the same (seed, position, token), in every instruction set (see kernels/ops.h).

inline constexpr float kGumbelMin = -3.14f;  ///< below -log(-log(2^-33))
inline constexpr float kGumbelMax = 22.88f;  ///< above -log(-log(1 - 2^-33))

/// out[i] = G(seed, position, first + i); first is a multiple of 4. Threads may share out a row.
void gumbel_range(std::uint64_t seed, std::int64_t position, TokenId first, std::span<float> out);

/// out[x] = G(seed, position, x) for x < out.size().
inline void gumbel_row(std::uint64_t seed, std::int64_t position, std::span<float> out) {
  gumbel_range(seed, position, 0, out);
}

/// out[i] = G(seed, position, tokens[i]).
void gumbel_at(std::uint64_t seed, std::int64_t position, std::span<const TokenId> tokens, float* out);

/// Index i of the largest (x[i] - shift) * scale + noise[i]; the lowest among equals.
std::int64_t argmax_with_noise(std::span<const float> x, float shift, float scale, const float* noise);

/// out[i] = x[i] * scale + noise[i], or -infinity where x[i] < lowest or x[i] is NaN.
void add_noise(std::span<const float> x, float lowest, float scale, const float* noise, float* out);

/// The score that argmax_with_noise compares. Multiplied and added separately rounded.
inline float noisy_score(float x, float shift, float scale, float noise) {
  return (x - shift) * scale + noise;
}

}  // namespace augur
