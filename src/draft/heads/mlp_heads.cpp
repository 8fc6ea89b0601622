#include "draft/heads/mlp_heads.h"

namespace augur {

void open_heads(HeadsWeights& weights, std::span<const MlpHeadNames> names, const WeightStore& store,
                StoredWeights& source, WeightPacker& packer) {
  const ModelConfig& target = weights.target.config();
  const std::int64_t hidden = target.hidden;
  weights.heads.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    // A grounded head reads the state, the root's embedding and one for each depth below it.
    const std::int64_t inputs = weights.grounded ? static_cast<std::int64_t>(i + 2) * hidden : hidden;
    weights.heads[i].body.open(packer, store, names[i].body, inputs, hidden);
    for (const std::string& block : names[i].body.blocks) {  // those that repeat another
      source.pass_over(block + ".weight");
      source.pass_over(block + ".bias");
    }
    if (names[i].output.empty()) continue;
    const bool bias = store.find(names[i].output + ".bias") != nullptr;
    weights.heads[i].output.open(packer, names[i].output, target.vocab, hidden, bias);
  }
}

}  // namespace augur
