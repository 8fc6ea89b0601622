// What a trainer computes is what the engine computes with what the trainer saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draft/detect.h"
#include "model/prefill.h"
#include "support/error_of.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

/// As in use: away from the initial weights, on which half of the formulas have no influence.
void disturb(Learner& learner) {
  const torch::NoGradGuard no_grad;
  torch::Generator generator = keyed_generator(11);
  for (auto& [name, tensor] : learner.parameters()) {
    const double scale = tensor.dim() == 1 ? 0.2 : 0.3 / std::sqrt(static_cast<double>(tensor.size(1)));
    tensor.add_(torch::randn(tensor.sizes(), generator) * scale);
  }
}

class Exported : public testing::TestWithParam<PartCase> {
 protected:
  static constexpr std::int64_t kRoot = 17;

  void SetUp() override {
    learner = GetParam().make(train);
    disturb(*learner);
    learner->save(folder.path());
    learner->load(folder.path());  // rounded as it was stored
    tokens = toy_tokens(99, 30);
    learn.assign(tokens.size(), 1);
    logits = learner->draft_logits({tokens, learn}, kRoot);
  }

  /// Largest difference between log-probabilities of what the learner thinks likely, over the largest logit.
  static double difference(const torch::Tensor& found, const torch::Tensor& row) {
    const torch::Tensor expected = row.log_softmax(-1);
    const torch::Tensor likely = expected > -8;
    return ((found - expected).abs().masked_select(likely).max() / row.abs().max()).item<double>();
  }

  TrainTarget train;
  GoldenTarget target{WeightFormat::BF16};
  TemporaryFolder folder;
  std::unique_ptr<Learner> learner;
  std::vector<TokenId> tokens;
  std::vector<std::uint8_t> learn;
  torch::Tensor logits;  ///< [depths, draft vocabulary] the learner's
};

TEST_P(Exported, GivesTheLearnersLogits) {
  ASSERT_GE(logits.size(0), 2);
  const Checkpoint saved = Checkpoint::open(folder.path());
  std::vector<torch::Tensor> found;
  if (*GetParam().drafter == '\0') {  // a whole model
    const auto model = Model::load(target.backend, saved, {.weights = WeightFormat::BF16});
    KvCache cache = model->make_cache();
    std::vector<float> hidden;
    prefill(*model, tokens, cache, {.rows_done = [&](std::int64_t, std::span<const float> rows) {
      hidden.insert(hidden.end(), rows.begin(), rows.end());
    }});
    Buffer<float> out(tokens.size() * 192);
    model->logits_of(hidden.data(), static_cast<int>(tokens.size()), false, out.data(), 192);
    for (std::int64_t d = 0; d < logits.size(0); ++d)
      found.push_back(torch::from_blob(out.data() + (kRoot + d) * 192, {192}).clone().log_softmax(-1));
  } else {
    ASSERT_EQ(detect_drafter_type(saved), GetParam().drafter);
    const auto model = target.load(GetParam().drafter, saved);
    const auto drafter = model->make({.context = 128});
    const std::span<const int> taps = drafter->tap_layers();
    const torch::Tensor features =
        taps.empty() ? torch::zeros({kRoot})  // of a drafter that runs the target's layers itself
                     : torch::cat(train.model.forward(tokens, taps).taps, 1).slice(0, 0, kRoot).contiguous();
    drafter->sync({.tokens = std::span<const TokenId>(tokens).first(kRoot),
                   .features = features.data_ptr<float>(),
                   .next = tokens[kRoot]});
    KvCache cache = target.model->make_cache();  // of drafters that run the target's own layers
    prefill(*target.model, std::span<const TokenId>(tokens).first(kRoot), cache);
    DraftTree tree;
    tree.reset(tokens[kRoot], kRoot);
    std::int32_t node = 0;
    for (std::int64_t d = 0; d < logits.size(0); ++d) {
      // All children of the node on the text's own path. A reduced vocabulary may lack the text's token: then
      // the path goes on with a node for it all the same.
      const auto entries = static_cast<int>(logits.size(1));
      const DraftTree before = tree;
      drafter->expand(tree, {&node, 1}, {.top_k = entries, .max_nodes = 1 << 20, .target_cache = &cache});
      torch::Tensor row = torch::full({192}, -1e9);
      for (std::int32_t child = tree.first_child(node); child >= 0; child = tree.next_sibling(child)) {
        row[tree.tokens()[static_cast<std::size_t>(child)]] =
            tree.log_probs()[static_cast<std::size_t>(child)];
      }
      found.push_back(entries == 192 ? row : train.reduced().columns(row.unsqueeze(0)).squeeze(0));
      if (auto* dspark = dynamic_cast<DflashLearner*>(learner.get());
          dspark && GetParam().drafter == std::string("dspark")) {
        SCOPED_TRACE("depth " + std::to_string(d));
        const torch::Tensor expected = dspark->draft_confidence({tokens, learn}, kRoot);
        testing_support::expect_confidence(*drafter, before, node, expected[d].item<float>(), 0.02f);
      }
      node = tree.add(node, tokens[static_cast<std::size_t>(kRoot + d + 1)], 0.0f, 1);
    }
    drafter->end_round();
  }
  for (std::size_t d = 0; d < found.size(); ++d) {
    // Both round to bfloat16, 0.4 %, but not at the same places.
    EXPECT_LT(difference(found[d], logits[static_cast<std::int64_t>(d)]), 0.025) << "depth " << d;
  }
}

TEST_P(Exported, ServesTheTargetThatItNamesOnly) {
  if (*GetParam().drafter == '\0') GTEST_SKIP() << "a model of its own";
  Fingerprint made_for = fingerprint_of(train.checkpoint);
  learner->made_for(made_for);
  learner->save(folder.path());
  EXPECT_NO_THROW(target.load(GetParam().drafter, Checkpoint::open(folder.path())));
  made_for.digest = "0000000000000000";
  learner->made_for(made_for);
  learner->save(folder.path());
  EXPECT_THAT(error_of([&] { target.load(GetParam().drafter, Checkpoint::open(folder.path())); }),
              testing::HasSubstr("made for another target"));
}

INSTANTIATE_TEST_SUITE_P(Parts, Exported, testing::ValuesIn(all_parts()), part_name);

}  // namespace
}  // namespace augur
