#include "base/error.h"
#include "draft/formats/head_file.h"
#include "draft/heads/mlp_heads.h"

namespace augur {
namespace {

bool has(const WeightStore& store, const std::string& matrix) {
  return store.find(matrix + ".weight") != nullptr;
}

/// How a file names the tensors of its heads.
struct Layout {
  std::string prefix;    ///< of all of them
  bool renamed = false;  ///< as vLLM's converter does, otherwise as the paper's code
};

Layout find_layout(const WeightStore& store) {
  for (const char* prefix : {"", "medusa_head."}) {
    if (has(store, std::string(prefix) + "0.0.linear")) return {prefix, false};
  }
  for (const char* prefix : {"", "medusa_heads."}) {
    if (has(store, std::string(prefix) + "blocks.0.layers.0")) return {prefix, true};
  }
  throw Error(
      "{}: no Medusa heads: expected a tensor 0.0.linear.weight, medusa_head.0.0.linear.weight or "
      "blocks.0.layers.0.weight",
      store.description());
}

/// The tensors of one head; without blocks where there is no such head.
MlpHeadNames head_names(const WeightStore& store, const Layout& layout, std::size_t head) {
  const std::string blocks = layout.renamed ? fmt::format("{}blocks.{}.layers.", layout.prefix, head)
                                            : fmt::format("{}{}.", layout.prefix, head);
  const std::string end = layout.renamed ? "" : ".linear";
  MlpHeadNames names;
  for (int layer = 0; has(store, fmt::format("{}{}{}", blocks, layer, end)); ++layer) {
    names.body.blocks.push_back(fmt::format("{}{}{}", blocks, layer, end));
  }
  if (names.body.blocks.empty()) return names;
  names.output = layout.renamed ? fmt::format("{}lm_heads.{}", layout.prefix, head)
                                : fmt::format("{}{}", blocks, names.body.blocks.size());
  names.body.block_bias = !layout.renamed || store.find(names.body.blocks.front() + ".bias") != nullptr;
  return names;
}

}  // namespace

/// Medusa (Cai et al., 2024): `medusa_lm_head.pt`, or a whole model with heads under `medusa_head.`.
std::unique_ptr<DrafterModel> load_medusa_drafter(const DrafterSource& source) {
  const HeadFile file(*source.head, "medusa_lm_head");
  const WeightStore& store = file.store();
  const Layout layout = find_layout(store);
  if (store.find(layout.prefix + "token_map") != nullptr) {
    throw Error(ErrorKind::Unsupported,
                "{}: heads over a part of the vocabulary ({}token_map) are not supported",
                store.description(), layout.prefix);
  }
  auto weights = std::make_unique<HeadsWeights>(source.target);
  weights->name = "medusa";
  weights->shares_target_head = shares_target_head(source);

  // How many there are is what is stored: published configurations say 2 where files have 5.
  std::vector<MlpHeadNames> heads;
  for (MlpHeadNames names = head_names(store, layout, 0); !names.body.blocks.empty();
       names = head_names(store, layout, heads.size())) {
    if (weights->shares_target_head) names.output.clear();
    heads.push_back(std::move(names));
  }
  require_fit(source, store, heads.front().body.blocks.front(), heads.front().output);
  require_stated(source, layout.renamed ? "num_hidden_layers" : "medusa_num_layers",
                 std::ssize(heads.front().body.blocks));

  StoredWeights stored(store, false);
  if (file.shared()) {
    for (const auto& [name, tensor] : store.tensors()) {
      if (!name.starts_with(layout.prefix)) stored.pass_over(name);
    }
  }
  WeightPacker packer(source.weights(), stored);
  open_heads(*weights, heads, store, stored, packer);
  stored.all_opened();
  packer.run(source.backend, source.progress);
  return make_heads_model(std::move(weights), source.vocabulary);
}

}  // namespace augur
