#include "files/fused_tensors.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "files/bare_tensors.h"

namespace augur {

namespace {

/// A positive size; 0: it is not there.
std::int64_t size_of(const nlohmann::json& config, const char* key) {
  constexpr std::int64_t kMax = 1 << 30;
  const auto it = config.find(key);
  if (it == config.end() || !it->is_number_integer()) return 0;
  const auto value = it->get<std::int64_t>();
  return value < 0 || value > kMax ? 0 : value;
}

using Slices = std::vector<WeightStore::Slice>;

Slices slices_of(const nlohmann::json& config, const StoredTensor& tensor) {
  const auto with = [&](std::string_view whole, const char* slice) {
    std::string name = tensor.name;
    return name.replace(name.find(whole), whole.size(), slice);
  };
  if (tensor.name.find(".self_attn.qkv_proj.") != std::string::npos) {
    const std::int64_t heads = size_of(config, "num_attention_heads");
    const std::int64_t stated = size_of(config, "num_key_value_heads");
    const std::int64_t kv_heads = stated > 0 ? stated : heads;
    if (heads == 0) return {};
    const std::int64_t stated_dim = size_of(config, "head_dim");
    const std::int64_t head_dim = stated_dim > 0 ? stated_dim : size_of(config, "hidden_size") / heads;
    return {{with("qkv_proj", "q_proj"), heads * head_dim},
            {with("qkv_proj", "k_proj"), kv_heads * head_dim},
            {with("qkv_proj", "v_proj"), kv_heads * head_dim}};
  }
  if (tensor.name.find(".mlp.gate_up_proj.") != std::string::npos) {
    const std::int64_t half = size_of(config, "intermediate_size");
    return {{with("gate_up_proj", "gate_proj"), half}, {with("gate_up_proj", "up_proj"), half}};
  }
  if (tensor.name.find(".shared_mlp.input_linear.") != std::string::npos) {
    const std::int64_t half = size_of(config, "shared_intermediate_size");
    return {{with("shared_mlp.input_linear", "mlp.gate_proj"), half},
            {with("shared_mlp.input_linear", "mlp.up_proj"), half}};
  }
  if (tensor.name.find(".shared_mlp.output_linear.") != std::string::npos && !tensor.shape.empty()) {
    return {{with("shared_mlp.output_linear", "mlp.down_proj"), tensor.shape[0]}};
  }
  constexpr std::int64_t kMostExperts = 4096;
  for (const auto& [whole, part] : {std::pair(".block_sparse_moe.input_linear.", ".gate_up_proj."),
                                    std::pair(".block_sparse_moe.output_linear.", ".down_proj.")}) {
    if (tensor.name.find(whole) == std::string::npos) continue;
    Slices slices;  // Granite's experts, by number
    if (tensor.shape.size() != 3 || tensor.shape[0] > kMostExperts) return slices;
    for (std::int64_t e = 0; e < tensor.shape[0]; ++e)
      slices.push_back({with(whole, fmt::format(".block_sparse_moe.experts.{}{}", e, part).c_str()), 1});
    return slices;
  }
  for (const BareTensor& bare : kBareTensors) {
    const std::string_view name = tensor.name;
    if (tensor.shape.size() != 1 || !name.ends_with(bare.suffix)) continue;
    const std::string_view stem = name.substr(0, name.size() - bare.suffix.size());
    if (stem.ends_with(bare.name)) return {{std::string(stem), tensor.shape[0]}};
  }
  constexpr std::string_view kExperts = ".experts.";
  constexpr std::string_view kPair = ".gate_up_proj.weight";
  if (const std::string_view name = tensor.name;
      tensor.shape.size() == 2 && name.find(kExperts) != std::string_view::npos && name.ends_with(kPair)) {
    const auto with_part = [&](const char* part) {
      return std::string(name.substr(0, name.size() - kPair.size())).append(part);
    };
    const std::int64_t half = tensor.shape[0] / 2;
    return {{with_part(".gate_proj.weight"), half}, {with_part(".up_proj.weight"), half}};
  }
  const bool by_expert =
      tensor.shape.size() == 3 || (tensor.shape.size() == 2 && tensor.name.ends_with(".bias"));
  if (const auto at = tensor.name.find(kExperts);
      at != std::string::npos && by_expert && tensor.shape[0] <= kMostExperts) {
    Slices slices;
    for (std::int64_t e = 0; e < tensor.shape[0]; ++e) {
      std::string name = tensor.name;
      name.insert(at + kExperts.size(), std::to_string(e) + ".");
      if (name.ends_with("_proj")) name += ".weight";  // transformers leaves it out
      slices.push_back({std::move(name), 1});
    }
    return slices;
  }
  return {};
}

}  // namespace

void split_fused_tensors(const nlohmann::json& config, WeightStore& store) {
  std::vector<std::string> names;
  for (const auto& entry : store.tensors()) names.push_back(entry.first);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const StoredTensor* const tensor = store.find(names[i]);
    if (tensor == nullptr) continue;  // split already
    const Slices slices = slices_of(config, *tensor);
    if (slices.empty()) continue;
    store.split(names[i], slices);
    for (const auto& slice : slices) {  // which may be two in one again
      if (slice.name != names[i] && store.find(slice.name) != nullptr) names.push_back(slice.name);
    }
  }
}

}  // namespace augur
