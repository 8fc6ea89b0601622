#include "model/recurrent_pieces.h"

#include <fmt/format.h>

#include "base/elementary.h"

namespace augur {

float recurrent_decay(float logarithm) {
  return static_cast<float>(-elementary::exp(static_cast<double>(logarithm)));
}

RecurrentPieces recurrent_pieces(const Family& family, const RecurrentSpec& recurrent,
                                 const std::string& prefix, const WeightSource& source) {
  const TensorNames& names = family.names;
  const auto at = [&](std::string_view name) { return fmt::format("{}{}.weight", prefix, name); };
  const auto by_key_head = [&](std::string_view together, std::string_view apart) {
    return source.has(at(together)) || (family.delta_by_key_head && !source.has(at(apart)));
  };
  const std::int64_t heads = recurrent.value_heads;
  const std::int64_t shared = heads / recurrent.key_heads;  // value heads of a key head
  RecurrentPieces pieces;
  if (by_key_head(names.delta_qkvz, names.delta_qkv)) {
    const std::int64_t keys = recurrent.key_dim;
    const std::int64_t values = shared * recurrent.value_dim;
    const std::int64_t group = 2 * keys + 2 * values;
    const auto part = [&](std::int64_t first, std::int64_t rows) {
      pieces.qkvz.push_back({.name = at(names.delta_qkvz),
                             .n = recurrent.key_heads * rows,
                             .from = {.offset = first, .block = rows, .stride = group},
                             .stored = recurrent.key_heads * group});
    };
    part(0, keys);
    part(keys, keys);
    part(2 * keys, values);
    part(2 * keys + values, values);
  } else {
    pieces.qkvz.push_back({.name = at(names.delta_qkv), .n = recurrent.channels()});
    pieces.qkvz.push_back({.name = at(names.delta_z), .n = recurrent.values()});
  }
  if (by_key_head(names.delta_ba, names.delta_b)) {
    pieces.b = {.name = at(names.delta_ba),
                .n = heads,
                .from = {.offset = 0, .block = shared, .stride = 2 * shared},
                .stored = 2 * heads};
    pieces.a = pieces.b;
    pieces.a.from.offset = shared;
  } else {
    pieces.b = {.name = at(names.delta_b), .n = heads};
    pieces.a = {.name = at(names.delta_a), .n = heads};
  }
  return pieces;
}

}  // namespace augur
