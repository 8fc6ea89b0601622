// Models of every family: config.json and tensors. What loads runs a chain and two branches behind it.
#include <cmath>
#include <memory>
#include <vector>

#include "attempt.h"
#include "model/model.h"
#include "part_folder.h"

namespace {

void run(augur::Model& model) {
  augur::KvCache cache = model.make_cache();
  augur::KvTxn txn = cache.reserve(4);
  const std::vector<augur::TokenId> tokens(4, 0);
  const std::vector<std::int32_t> positions = {0, 1, 2, 2};
  const std::vector<std::int32_t> parents = {-1, 0, 1, 1};
  const augur::TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = 4};
  model.forward({.tokens = tokens, .positions = positions, .parents = parents, .sequences = {&sequence, 1}});
  const std::int64_t stride = (model.config().vocab + 15) / 16 * 16;
  const augur::Buffer<float> logits(static_cast<std::size_t>(stride));
  const std::int32_t row = 3;
  model.logits({&row, 1}, logits.data(), stride);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static augur::Backend backend(1);
  augur::fuzz::attempt([&] {
    const auto checkpoint = augur::Checkpoint::open(augur::fuzz::write_part(data, size));
    const augur::ModelConfig config = augur::ModelConfig::from_json(checkpoint.config(), "config.json");
    if (config.context_limit < 4) return;
    const auto context = std::min<std::int64_t>(64, config.context_limit);
    run(*augur::Model::load(backend, checkpoint, {.weights = augur::WeightFormat::BF16, .context = context}));
  });
  return 0;
}
