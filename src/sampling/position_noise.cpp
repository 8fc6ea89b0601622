#include "sampling/position_noise.h"

#include <cassert>

#include "sampling/gumbel.h"

namespace augur {

PositionNoise::PositionNoise(std::uint64_t seed, std::int64_t vocab_size, int rows)
    : seed_(seed), vocab_size_(vocab_size), rows_(static_cast<std::size_t>(rows)) {
  assert(vocab_size >= 1 && rows >= 1);
}

PositionNoise::Row& PositionNoise::slot(std::int64_t position) {
  assert(position >= 0);
  return rows_[static_cast<std::size_t>(position) % rows_.size()];
}

std::span<float> PositionNoise::claim(std::int64_t position) {
  Row& row = slot(position);
  if (row.position == position) return {};
  if (row.values.size() == 0) row.values = Buffer<float>(static_cast<std::size_t>(vocab_size_));
  row.position = -1;
  return row.values.span();
}

std::span<const float> PositionNoise::row(std::int64_t position) {
  if (const std::span<float> missing = claim(position); !missing.empty()) {
    gumbel_row(seed_, position, missing);
    filled(position);
  }
  return slot(position).values.span();
}

void PositionNoise::at(std::int64_t position, std::span<const TokenId> tokens, float* out) {
  // A token alone costs about as much as 16 in a row.
  constexpr std::int64_t kAloneCost = 16;
  const bool cached = slot(position).position == position;
  if (!cached && static_cast<std::int64_t>(tokens.size()) * kAloneCost < vocab_size_) {
    gumbel_at(seed_, position, tokens, out);
    return;
  }
  const std::span<const float> values = row(position);
  for (std::size_t i = 0; i < tokens.size(); ++i) out[i] = values[static_cast<std::size_t>(tokens[i])];
}

}  // namespace augur
