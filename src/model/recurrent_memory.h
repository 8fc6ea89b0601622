#pragma once
#include <cstdint>

#include "model/layer_spec.h"

namespace augur {

/// What a layer with a recurrence keeps in a cache, float32: where in a state, and in a record, what lies.
///
///   state    S of every value head, then the last taps - 1 rows that went into the convolution
///   record   of a token: k of every key head, d and alpha of every value head (RecurrentSpec), and its row
///   of the
///            convolution
///
/// A head's S is cut by columns into tiles of [key_dim, tile()], one after the other.
class RecurrentMemory {
 public:
  explicit RecurrentMemory(const RecurrentSpec& spec) : spec_(spec) {}

  std::int64_t tile() const { return spec_.value_dim % kTile == 0 ? kTile : spec_.value_dim; }
  std::int64_t tile_floats() const { return spec_.key_dim * tile(); }
  std::int64_t head_floats() const { return std::int64_t{spec_.key_dim} * spec_.value_dim; }

  // Of a state.
  std::int64_t head(int value_head) const { return value_head * head_floats(); }
  std::int64_t tail(std::int64_t row) const { return head(spec_.value_heads) + row * spec_.channels(); }
  std::int64_t state_floats() const { return tail(spec_.taps - 1); }

  // Of a record.
  std::int64_t k(int key_head) const { return std::int64_t{key_head} * spec_.key_dim; }
  std::int64_t d(int value_head) const { return spec_.keys() + std::int64_t{value_head} * spec_.value_dim; }
  std::int64_t alpha(int value_head) const { return spec_.keys() + spec_.values() + value_head; }
  std::int64_t channels() const { return alpha(spec_.value_heads); }
  std::int64_t record_floats() const { return channels() + spec_.channels(); }

 private:
  /// Columns of which a tile lies in a first-level cache.
  static constexpr std::int64_t kTile = 64;

  RecurrentSpec spec_;
};

}  // namespace augur
