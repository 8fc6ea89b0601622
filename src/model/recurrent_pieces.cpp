#include "model/recurrent_pieces.h"

#include <fmt/format.h>

#include <numeric>

#include "base/elementary.h"

namespace augur {

float recurrent_decay(float logarithm) {
  return static_cast<float>(-elementary::exp(static_cast<double>(logarithm)));
}

namespace {

RecurrentPieces mamba_pieces(const std::string& name, const RecurrentSpec& spec) {
  const std::int64_t keys = spec.keys();
  const std::int64_t values = spec.values();
  const std::int64_t stored = 2 * values + 2 * keys + spec.value_heads;
  const auto rows = [&](std::int64_t first, std::int64_t n) {
    return MatrixPiece{.name = name, .n = n, .from = {.offset = first}, .stored = stored};
  };
  return {
      .qkvz = {rows(2 * values + keys, keys), rows(2 * values, keys), rows(values, values), rows(0, values)},
      .gates = {rows(2 * values + 2 * keys, spec.value_heads)}};
}

}  // namespace

std::vector<std::int64_t> stored_channels(const RecurrentSpec& spec) {
  if (!spec.mamba()) return {};
  std::vector<std::int64_t> channels(static_cast<std::size_t>(spec.channels()));
  const auto queries = channels.begin();
  const auto keys = queries + static_cast<std::ptrdiff_t>(spec.keys());
  const auto values = keys + static_cast<std::ptrdiff_t>(spec.keys());
  std::iota(queries, keys, spec.values() + spec.keys());
  std::iota(keys, values, spec.values());
  std::iota(values, channels.end(), 0);
  return channels;
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
  if (recurrent.mamba()) return mamba_pieces(at(names.mamba_in), recurrent);
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
    for (const std::int64_t first : {std::int64_t{0}, shared}) {
      pieces.gates.push_back({.name = at(names.delta_ba),
                              .n = heads,
                              .from = {.offset = first, .block = shared, .stride = 2 * shared},
                              .stored = 2 * heads});
    }
  } else {
    pieces.gates = {{.name = at(names.delta_b), .n = heads}, {.name = at(names.delta_a), .n = heads}};
  }
  return pieces;
}

}  // namespace augur
