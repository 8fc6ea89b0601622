// The trainers' model of every family reads the descriptors that the engine's does: the states are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/train/torch_llama.h"
#include "support/error_of.h"
#include "support/golden_models.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

double difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).square().mean().sqrt() / expected.square().mean().sqrt()).item<double>();
}

class TrainFamilies : public testing::TestWithParam<std::string> {};

TEST_P(TrainFamilies, LibtorchAgreesWithTheEngine) {
  const Checkpoint checkpoint = Checkpoint::open(golden_model_path(GetParam()));
  const ModelConfig config = ModelConfig::from_json(checkpoint.config(), GetParam());
  const TorchLlama engine(checkpoint, torch::kCPU, TargetForward::Engine);
  std::vector<TokenId> text;
  const std::int64_t length = std::min<std::int64_t>(config.max_context, 150);
  for (std::int64_t i = 0; i < length; ++i) text.push_back(static_cast<TokenId>(i * 37 % config.vocab));
  const TorchLlama::Output found = engine.forward(text);
  const bool engine_only = std::any_of(config.kinds.begin(), config.kinds.end(), [](const LayerSpec& kind) {
    return kind.experts.count > 0 || kind.sinks || kind.gated || !kind.attends() || !kind.feeds_forward();
  });
  if (engine_only) {
    EXPECT_THAT(error_of([&] { TorchLlama(checkpoint).config(); }),
                testing::HasSubstr("run in the engine only"));
    EXPECT_TRUE(engine.logits(found.last).isfinite().all().item<bool>());
    return;
  }
  const TorchLlama libtorch(checkpoint);
  const TorchLlama::Output expected = libtorch.forward(text);
  EXPECT_LT(difference(found.last, expected.last), 0.03);
  EXPECT_LT(difference(engine.logits(found.last), libtorch.logits(expected.last)), 0.03);
}

INSTANTIATE_TEST_SUITE_P(Models, TrainFamilies, testing::ValuesIn(golden_model_names()),
                         [](const auto& v) { return v.param; });

}  // namespace
}  // namespace augur
