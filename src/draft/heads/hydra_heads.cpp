#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "draft/formats/head_file.h"
#include "draft/heads/mlp_heads.h"

namespace augur {
namespace {

constexpr const char* kPrefixLayer = "prefix_embeding_layer.";  // as published

/// A head's modules are numbered as PyTorch counts them in a sequence: dropouts, which have no weights, make
/// gaps. Numbers of hydra_mlp.{head}.{number}.linear, ascending.
std::vector<int> block_numbers(const WeightStore& store, std::size_t head) {
  constexpr int kMost = 64;
  std::vector<int> numbers;
  for (int i = 0; i < kMost; ++i) {
    if (store.find(fmt::format("hydra_mlp.{}.{}.linear.weight", head, i)) != nullptr) numbers.push_back(i);
  }
  return numbers;
}

/// hydra_lm_head.{head}, or with a dropout before it hydra_lm_head.{head}.1.
std::string output_name(const WeightStore& store, std::size_t head) {
  std::string name = fmt::format("hydra_lm_head.{}", head);
  for (const char* number : {".1", ".0"}) {
    if (store.find(name + number + ".weight") != nullptr) return name + number;
  }
  return name;
}

std::vector<MlpHeadNames> find_heads(const WeightStore& store) {
  std::vector<MlpHeadNames> heads;
  for (;;) {
    const std::vector<int> numbers = block_numbers(store, heads.size());
    if (numbers.empty()) break;
    const auto block = [&](int number, const char* part) {
      return fmt::format("hydra_mlp.{}.{}.{}", heads.size(), number, part);
    };
    MlpHeadNames names;
    names.body.entry = block(numbers.front(), "linear");
    names.body.entry_residual = block(numbers.front(), "res_connection");
    for (std::size_t i = 1; i < numbers.size(); ++i) names.body.blocks.push_back(block(numbers[i], "linear"));
    names.output = output_name(store, heads.size());
    heads.push_back(std::move(names));
  }
  if (heads.empty()) {
    throw Error("{}: no Hydra heads: expected tensors hydra_mlp.0.*.linear.weight", store.description());
  }
  return heads;
}

}  // namespace

/// Hydra and Hydra++ (Ankner et al., 2024): `hydra_lm_head.pt`.
std::unique_ptr<DrafterModel> load_hydra_drafter(const DrafterSource& source) {
  const HeadFile file(*source.head, "hydra_lm_head");
  const WeightStore& store = file.store();
  std::vector<MlpHeadNames> heads = find_heads(store);
  const bool shared_output = shares_target_head(source);
  for (MlpHeadNames& names : heads) {
    if (shared_output) names.output.clear();
  }
  const ModelConfig& target = source.target.config();
  require_fit(source, store, heads.front().body.entry, heads.front().output);
  require_stated(source, "hydra_num_heads", std::ssize(heads));
  require_stated(source, "hydra_num_layers", std::ssize(heads.front().body.blocks) + 1);
  const nlohmann::json& config = source.head->config();
  // Ungrounded heads would read something else; nobody published one.
  if (const auto grounded = config.find("grounded_heads"); grounded != config.end() && *grounded == false) {
    throw Error(ErrorKind::Unsupported, "{}: grounded_heads is false: such heads are not supported",
                source.head->path().string());
  }

  auto weights = std::make_unique<HeadsWeights>(source.target);
  weights->name = "hydra";
  weights->grounded = true;
  weights->shares_target_head = shared_output;
  StoredWeights stored(store, false);
  if (file.shared()) {
    for (const auto& [name, tensor] : store.tensors()) {
      if (!name.starts_with("hydra_") && !name.starts_with(kPrefixLayer)) stored.pass_over(name);
    }
  }
  WeightPacker packer(source.weights(), stored);
  open_heads(*weights, heads, store, stored, packer);

  // Hydra++ stores a whole model of one layer; its sizes are the target's, and its embedding is never used.
  std::vector<LayerWeights> layers;
  const std::string layer = fmt::format("{}layers.0.", kPrefixLayer);
  const bool has_prefix = store.find(layer + "self_attn.q_proj.weight") != nullptr;
  ModelConfig shape = head_shape(target);
  shape.layers = 1;
  if (has_prefix) {
    stored.pass_over(fmt::format("{}embed_tokens.weight", kPrefixLayer));
    layers.resize(1);
    pack_layer(packer, shape, 0, layer, layers.front());
    packer.vector(weights->prefix_norm, fmt::format("{}norm.weight", kPrefixLayer), target.hidden);
  }
  stored.all_opened();
  packer.run(source.backend, source.progress);
  if (has_prefix) {
    weights->prefix = std::make_unique<LayerStack>(source.target.device(), shape, source.target.float_type(),
                                                   source.context, std::move(layers));
  }
  return make_heads_model(std::move(weights), source.vocabulary);
}

}  // namespace augur
