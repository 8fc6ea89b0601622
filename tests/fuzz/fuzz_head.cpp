// Draft heads of every published layout, and draft models: config.json and tensors, read against the tiny
// target of tests/golden/heads, as the type that they are recognised as. What loads drafts a round.
#include <cstdlib>
#include <memory>
#include <vector>

#include "attempt.h"
#include "draft/detect.h"
#include "draft/registry.h"
#include "part_folder.h"
#include "support/no_tokenizer.h"

namespace {

/// Loaded once: what heads are made for.
struct Target {
  augur::Backend backend{1};
  augur::testing_support::NoTokenizer tokenizer;
  std::unique_ptr<augur::Model> model =
      augur::Model::load(backend, augur::Checkpoint::open(AUGUR_SOURCE_DIR "/tests/golden/heads/target"),
                         {.weights = augur::WeightFormat::BF16, .context = 64});
};

void draft(augur::Drafter& drafter, const augur::ModelConfig& target) {
  const std::vector<augur::TokenId> text{1, 2, 3};
  const std::vector<float> features(
      text.size() * drafter.tap_layers().size() * static_cast<std::size_t>(target.hidden), 0.25f);
  for (const int layer : drafter.tap_layers()) {
    if (layer < 0 || layer > target.layers) std::abort();
  }
  drafter.sync({.tokens = text, .first_position = 0, .features = features.data(), .next = 4});
  augur::DraftTree tree;
  tree.reset(4, std::ssize(text));
  std::vector<std::int32_t> frontier{augur::DraftTree::kRoot};
  for (int level = 0; level < 2 && !frontier.empty(); ++level) {
    const std::int32_t known = tree.size();
    drafter.expand(tree, frontier, {.top_k = 2, .max_nodes = 8});
    frontier.clear();
    for (std::int32_t node = known; node < tree.size(); ++node) frontier.push_back(node);
    if (drafter.traits().one_shot) break;
  }
  drafter.end_round();
  for (const augur::TokenId token : tree.tokens()) {
    if (token < 0 || token >= target.vocab) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Target target;
  augur::fuzz::attempt([&] {
    const auto head = augur::Checkpoint::open(augur::fuzz::write_part(data, size));
    const augur::DrafterType& type = augur::find_drafter_type(augur::detect_drafter_type(head));
    if (type.name == "draft") {  // which would want the target's tokenizer beside it
      augur::Model::load(target.backend, head);
      return;
    }
    const auto model = type.load({.backend = target.backend,
                                  .target = *target.model,
                                  .tokenizer = target.tokenizer,
                                  .target_path = "target",
                                  .head = &head,
                                  .context = target.model->context(),
                                  .vocabulary = nullptr,
                                  .datastore = {},
                                  .progress = {}});
    draft(*model->make({.context = target.model->context()}), target.model->config());
  });
  return 0;
}
