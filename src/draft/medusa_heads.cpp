#include "draft/medusa_heads.h"

#include "base/error.h"
#include "draft/heads_drafter.h"

namespace augur {
namespace {

/// What precedes "{head}.{layer}" in the names.
std::string find_prefix(const WeightStore& store) {
  for (const char* prefix : {"", "medusa_head."}) {
    if (store.find(std::string(prefix) + "0.0.linear.weight") != nullptr) return prefix;
  }
  throw Error("{}: no Medusa heads: expected a tensor 0.0.linear.weight or medusa_head.0.0.linear.weight",
              store.description());
}

}  // namespace

std::unique_ptr<DrafterModel> load_medusa_drafter(const DrafterSource& source) {
  const HeadFile file(*source.head, "medusa_lm_head");
  const WeightStore& store = file.store();
  const std::string prefix = find_prefix(store);
  const auto has = [&](const std::string& matrix) { return store.find(matrix + ".weight") != nullptr; };
  const ModelConfig& target = source.target.config();
  auto weights = std::make_unique<HeadsWeights>(source.target);
  weights->name = "medusa";

  // How many there are is what is stored: published configurations say 2 where files have 5.
  std::vector<MlpHead::Names> heads;
  for (;;) {
    const std::string head = fmt::format("{}{}.", prefix, heads.size());
    if (!has(head + "0.linear")) break;
    MlpHead::Names names;
    for (int layer = 0; has(fmt::format("{}{}.linear", head, layer)); ++layer) {
      names.blocks.push_back(fmt::format("{}{}.linear", head, layer));
    }
    names.output = fmt::format("{}{}", head, names.blocks.size());
    heads.push_back(std::move(names));
  }
  require_fit(source, store, heads.front().blocks.front(), heads.front().output);
  require_stated(source, "medusa_num_layers", std::ssize(heads.front().blocks));

  StoredWeights stored(store, false);
  if (file.shared()) {
    for (const auto& [name, tensor] : store.tensors()) {
      if (!name.starts_with(prefix)) stored.pass_over(name);
    }
  }
  const DType type = source.target.weight_type();
  WeightPacker packer(type, stored);
  weights->heads.resize(heads.size());
  for (std::size_t i = 0; i < heads.size(); ++i) {
    weights->heads[i].open(packer, store, type, heads[i],
                           {.inputs = target.hidden, .hidden = target.hidden, .vocab = target.vocab});
    for (const std::string& block : heads[i].blocks) {  // those that repeat another
      stored.pass_over(block + ".weight");
      stored.pass_over(block + ".bias");
    }
  }
  stored.all_opened();
  packer.run(source.backend.pool, source.progress);
  return make_heads_model(std::move(weights));
}

}  // namespace augur
