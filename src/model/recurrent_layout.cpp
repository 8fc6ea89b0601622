#include "model/recurrent_layout.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "files/gguf/model.h"
#include "files/head_order.h"
#include "model/families.h"
#include "model/recurrent_pieces.h"

namespace augur {

namespace {

void add_rows(const MatrixPiece& piece, std::vector<std::int64_t>& rows) {
  for (std::int64_t i = 0; i < piece.n; ++i) rows.push_back(piece.from.row(i, piece.n));
}

std::vector<float> decay_of(const StoredTensor& tensor, const std::vector<std::int64_t>& order) {
  std::vector<float> decay(static_cast<std::size_t>(tensor.shape[0]));
  read_rows(tensor, 0, 1, decay.data());
  for (float& value : decay) value = recurrent_decay(value);
  return in_order(std::move(decay), order);
}

}  // namespace

std::vector<std::int64_t> gguf_value_order(const GgufArchitecture& architecture,
                                           const RecurrentSpec& recurrent, std::int64_t first,
                                           std::int64_t width) {
  if (!architecture.delta_interleaved || recurrent.interleaved) return {};
  return transposed_heads(recurrent.key_heads, recurrent.value_heads / recurrent.key_heads, first, width);
}

namespace {

/// Of Mamba2 few tensors are anything else than their names.
bool lay_out_mamba(const ModelConfig& config, const GgufArchitecture& architecture, const WeightStore& store,
                   const StoredTensor& tensor, std::vector<GgufItem>& items) {
  const TensorNames& names = find_family(config.family)->names;
  const RecurrentSpec recurrent = config.recurrent();
  const std::int64_t heads = recurrent.value_heads;
  const auto is = [&](std::string_view name) { return tensor.name.ends_with(fmt::format(".{}", name)); };
  const auto add = [&](std::string_view name, const Shape& stored, const Shape& shape) -> GgufItem& {
    store.require(tensor.name, stored);
    return items.emplace_back(GgufItem{.name = gguf_tensor_name(architecture, name), .shape = shape});
  };
  if (is(names.recurrent_log)) {
    const std::string_view prefix =
        std::string_view(tensor.name).substr(0, tensor.name.size() - names.recurrent_log.size());
    add(fmt::format("{}{}", prefix, names.recurrent_decay), {heads}, {heads, 1}).values =
        decay_of(tensor, {});
  } else if (is(names.mamba_skip)) {
    add(tensor.name, {heads}, {heads, 1}).tensors = {&tensor};
  } else if (is(names.recurrent_norm)) {
    add(tensor.name, {recurrent.norm_weights()}, {recurrent.key_heads, recurrent.norm_width()}).tensors = {
        &tensor};
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool lay_out_recurrent(const ModelConfig& config, const GgufArchitecture& architecture,
                       const WeightStore& store, const StoredTensor& tensor, std::vector<GgufItem>& items) {
  if (architecture.mamba) return lay_out_mamba(config, architecture, store, tensor, items);
  constexpr std::string_view kRule = "linear_attn.";
  const std::size_t at = tensor.name.find(kRule);
  if (!architecture.delta || at == std::string::npos) return false;
  const Family& family = *find_family(config.family);
  const TensorNames& names = family.names;
  const RecurrentSpec recurrent = config.recurrent();
  const std::string prefix = tensor.name.substr(0, at);
  const auto is = [&](std::string_view name, std::string_view suffix = ".weight") {
    return std::string_view(tensor.name).substr(at) == fmt::format("{}{}", name, suffix);
  };
  const auto order = [&](std::int64_t first, std::int64_t width) {
    return gguf_value_order(architecture, recurrent, first, width);
  };
  const auto add = [&](std::string_view hugging_face, const Shape& shape, std::vector<std::int64_t> rows) {
    items.push_back({.name = gguf_tensor_name(architecture, fmt::format("{}{}", prefix, hugging_face)),
                     .shape = shape,
                     .tensors = {&tensor},
                     .order = std::move(rows)});
  };
  const auto expect = [&](const Shape& shape) { store.require(tensor.name, shape); };
  const std::int64_t hidden = config.hidden;
  const std::int64_t heads = recurrent.value_heads;
  if (is(names.delta_qkvz)) {
    const std::vector<MatrixPiece> pieces =
        recurrent_pieces(family, recurrent, prefix, StoredWeights(store, false)).qkvz;
    expect({pieces[0].stored, hidden});
    std::vector<std::int64_t> qkv;
    std::vector<std::int64_t> z;
    for (std::size_t i = 0; i < 3; ++i) add_rows(pieces[i], qkv);
    add_rows(pieces[3], z);
    add(fmt::format("{}.weight", names.delta_qkv), {recurrent.channels(), hidden},
        in_order(std::move(qkv), order(2 * recurrent.keys(), recurrent.value_dim)));
    add(fmt::format("{}.weight", names.delta_z), {recurrent.values(), hidden},
        in_order(std::move(z), order(0, recurrent.value_dim)));
  } else if (is(names.delta_qkv)) {
    expect({recurrent.channels(), hidden});
    add(tensor.name.substr(at), tensor.shape, order(2 * recurrent.keys(), recurrent.value_dim));
  } else if (is(names.delta_z)) {
    expect({recurrent.values(), hidden});
    add(tensor.name.substr(at), tensor.shape, order(0, recurrent.value_dim));
  } else if (is(names.delta_b) || is(names.delta_a)) {
    expect({heads, hidden});
    add(tensor.name.substr(at), tensor.shape, order(0, 1));
  } else if (is(names.recurrent_taps)) {
    expect({recurrent.channels(), 1, recurrent.taps});
    add(tensor.name.substr(at), {recurrent.channels(), recurrent.taps},
        order(2 * recurrent.keys(), recurrent.value_dim));
  } else if (is(names.recurrent_log, "")) {
    expect({heads});
    items.push_back(
        {.name = gguf_tensor_name(architecture, fmt::format("{}{}", prefix, names.recurrent_decay)),
         .shape = {heads},
         .values = decay_of(tensor, order(0, 1))});
  } else if (is(names.recurrent_bias, "")) {
    expect({heads});
    add(tensor.name.substr(at), tensor.shape, order(0, 1));
  } else if (is(names.recurrent_out)) {
    expect({hidden, recurrent.values()});
    add(tensor.name.substr(at), tensor.shape, {});
    items.back().columns = order(0, recurrent.value_dim);
  } else {
    return false;
  }
  return true;
}

std::int64_t drafting_layers(const WeightStore& store) {
  constexpr std::string_view kLayers = "mtp.layers.";
  std::int64_t layers = 0;
  for (auto it = store.tensors().lower_bound(kLayers);
       it != store.tensors().end() && it->first.starts_with(kLayers); ++it) {
    const std::string_view rest = std::string_view(it->first).substr(kLayers.size());
    constexpr std::int64_t kMost = 64;
    std::int64_t number = -1;
    std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (number < 0 || number >= kMost)
      throw Error("{}: tensor {}: expected a layer from 0 to {}", it->second.file, it->first, kMost - 1);
    layers = std::max(layers, number + 1);
  }
  return layers;
}

}  // namespace augur
