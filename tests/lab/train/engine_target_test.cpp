// A frozen target whose states the engine computes.
#include "lab/train/engine_target.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>

#include "model/prefill.h"
#include "support/error_of.h"
#include "support/stories.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

/// Root mean square of the difference over that of what is expected.
double difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).square().mean().sqrt() / expected.square().mean().sqrt()).item<double>();
}

constexpr double kTolerance = 0.02;  // as between libtorch and the golden values (target_test.cpp)

/// Longer than a pass.
std::vector<TokenId> long_text(int length) {
  return toy_tokens(5, length);
}

TorchLlama::Output forward(EngineTarget& target, std::span<const TokenId> tokens,
                           std::span<const int> taps = {}) {
  return target.forward({&tokens, 1}, taps);
}

bool same(const TorchLlama::Output& a, const TorchLlama::Output& b) {
  return a.last.equal(b.last) && std::equal(a.taps.begin(), a.taps.end(), b.taps.begin(), b.taps.end(),
                                            [](const auto& x, const auto& y) { return x.equal(y); });
}

TEST(EngineTarget, AgreesWithLibtorch) {
  const Checkpoint checkpoint = Checkpoint::open(golden_head_path("target"));
  const TorchLlama libtorch(checkpoint);
  const TorchLlama engine(checkpoint, torch::kCPU, TargetForward::Engine);
  const std::vector<int> taps = {0, 3, 3, 5, 8};
  for (const int length : {1, 40, 300}) {
    const TorchLlama::Output expected = libtorch.forward(long_text(length), taps);
    const TorchLlama::Output found = engine.forward(long_text(length), taps);
    ASSERT_EQ(found.taps.size(), taps.size());
    for (std::size_t i = 0; i < taps.size(); ++i)
      EXPECT_LT(difference(found.taps[i], expected.taps[i]), kTolerance) << length << ", layer " << taps[i];
    EXPECT_LT(difference(found.last, expected.last), kTolerance) << length;
  }
}

// A GGUF file's states are those of the engine's own model with the weights expanded, bit for bit, though the
// passes have other sizes and another number of threads.
TEST(EngineTarget, IsTheEnginesModelBitForBit) {
  Stories stories;
  std::vector<TokenId> tokens = stories.prompt("Once upon a time, there was a little girl named Lily.");
  while (tokens.size() < 300) tokens.push_back(tokens[tokens.size() % 7 + 1]);
  const auto model = Model::load(stories.backend, stories.checkpoint, {.weights = WeightFormat::BF16});
  KvCache cache = model->make_cache();
  std::vector<float> hidden;
  prefill(*model, tokens, cache, {.chunk = 100, .rows_done = [&](std::int64_t, std::span<const float> chunk) {
                                    hidden.insert(hidden.end(), chunk.begin(), chunk.end());
                                  }});
  const TorchLlama target(stories.checkpoint, torch::kCPU, TargetForward::Engine);
  const torch::Tensor last = target.forward(tokens).last.contiguous();
  ASSERT_EQ(static_cast<std::size_t>(last.numel()), hidden.size());
  EXPECT_TRUE(std::equal(hidden.begin(), hidden.end(), last.data_ptr<float>()));
}

// Whatever the others are, and wherever passes of 256 rows are cut.
TEST(EngineTarget, SequencesTogetherGetTheBitsOfEachAlone) {
  EngineTarget target(Checkpoint::open(golden_head_path("target")));
  const std::vector<int> taps = {2, 8};
  std::vector<std::vector<TokenId>> texts;
  for (const int length : {40, 1, 300, 17, 155, 256, 3, 90, 400})
    texts.push_back(toy_tokens(static_cast<std::uint32_t>(length), length));
  const std::vector<std::span<const TokenId>> sequences(texts.begin(), texts.end());
  for (int round = 0; round < 2; ++round) {  // what a pack leaves behind is in nobody's way
    const TorchLlama::Output together = target.forward(sequences, taps);
    std::int64_t begin = 0;
    for (const auto& text : texts) {
      const std::int64_t end = begin + std::ssize(text);
      EXPECT_TRUE(same(together.rows(begin, end), forward(target, text, taps))) << text.size();
      begin = end;
    }
    EXPECT_EQ(together.last.size(0), begin);
  }
}

TEST(EngineTarget, ManyCallersGetTheSameBits) {
  EngineTarget target(Checkpoint::open(golden_head_path("target")));
  const std::vector<int> taps = {2, 8};
  std::vector<TorchLlama::Output> expected;
  for (int i = 0; i < 6; ++i)
    expected.push_back(forward(target, toy_tokens(static_cast<std::uint32_t>(i), 270 - 40 * i), taps));
  std::vector<std::future<bool>> workers;
  for (int w = 0; w < 3; ++w) {
    workers.push_back(std::async(std::launch::async, [&, w] {
      at::set_num_threads(1);  // of this thread, as a training's workers do
      bool all = true;
      for (int round = 0; round < 12; ++round) {
        const int i = (round * 5 + w) % 6;
        all = all && same(forward(target, toy_tokens(static_cast<std::uint32_t>(i), 270 - 40 * i), taps),
                          expected[static_cast<std::size_t>(i)]);
      }
      return all;
    }));
  }
  for (auto& worker : workers) EXPECT_TRUE(worker.get());
}

TEST(EngineTarget, HasTheLayersOfTheCheckpoint) {
  const Checkpoint checkpoint = Checkpoint::open(golden_head_path("target"));
  const NamedTensors expected = TorchLlama(checkpoint).named();
  const NamedTensors found = TorchLlama(checkpoint, torch::kCPU, TargetForward::Engine).named();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, expected[i].first);
    EXPECT_TRUE(found[i].second.equal(expected[i].second)) << found[i].first;
  }
}

TEST(EngineTarget, ASequenceBeyondTheContextIsAnErrorAndHarmsNoOther) {
  const Checkpoint checkpoint = Checkpoint::open(golden_head_path("target"));
  EngineTarget target(checkpoint);
  const auto context =
      static_cast<int>(ModelConfig::from_json(checkpoint.config(), checkpoint.path().string()).max_context);
  const TorchLlama::Output before = forward(target, long_text(20));
  EXPECT_THAT(error_of([&] { forward(target, long_text(context + 1)); }),
              testing::HasSubstr(std::to_string(context)));
  EXPECT_TRUE(same(forward(target, long_text(20)), before));
}

}  // namespace
}  // namespace augur
