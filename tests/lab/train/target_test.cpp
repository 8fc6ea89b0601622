// The target in libtorch against the engine's and against golden values.
#include <gtest/gtest.h>

#include "lab/train/target_memory.h"
#include "model/prefill.h"
#include "support/stories.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

torch::Tensor as_tensor(const std::vector<float>& values, std::int64_t rows) {
  return torch::tensor(values).view({rows, -1});
}

/// Root mean square of the difference over that of what is expected.
double difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).square().mean().sqrt() / expected.square().mean().sqrt()).item<double>();
}

// bfloat16 products keep 8 bits: about 0.4 % a product, a little more after several layers. A wrong rotary
// position, norm or head changes these numbers by 10 % and more.
constexpr double kTolerance = 0.02;

TEST(TorchTarget, GivesTheGoldenStreamsAndLogits) {
  const TorchLlama target(Checkpoint::open(golden_head_path("target")));
  const GoldenHead golden("target");
  const auto tokens = golden.expected["tokens"].get<std::vector<TokenId>>();
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const std::vector<int> taps = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const TorchLlama::Output out = target.forward(tokens, taps);
  const torch::Tensor streams = torch::tensor(golden.values("stream")).view({9, rows, 64});
  for (std::int64_t i = 0; i <= 8; ++i)
    EXPECT_LT(difference(out.taps[static_cast<std::size_t>(i)], streams[i]), kTolerance) << "layer " << i;
  EXPECT_LT(difference(target.logits(out.last), as_tensor(golden.values("logits"), rows)), kTolerance);
}

TEST(TorchTarget, AgreesWithTheEngine) {
  Stories stories;
  const TorchLlama target(stories.checkpoint);
  const std::vector<TokenId> tokens = stories.prompt(
      "Once upon a time, there was a little girl named Lily. She loved to play outside in the park with her "
      "dog.");
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const auto model = Model::load(stories.backend, stories.checkpoint, {.weights = WeightFormat::BF16});
  KvCache cache = model->make_cache();
  std::vector<float> hidden;
  prefill(*model, tokens, cache, {.rows_done = [&](std::int64_t, std::span<const float> chunk) {
    hidden.insert(hidden.end(), chunk.begin(), chunk.end());
  }});
  const TorchLlama::Output out = target.forward(tokens);
  EXPECT_LT(difference(out.last, as_tensor(hidden, rows)), kTolerance);

  const std::int64_t stride = 512;
  Buffer<float> logits(static_cast<std::size_t>(rows * stride));
  model->logits_of(hidden.data(), static_cast<int>(rows), false, logits.data(), stride);
  const torch::Tensor engine = torch::from_blob(logits.data(), {rows, stride}).clone();
  const torch::Tensor ours = target.logits(out.last);
  EXPECT_LT(difference(ours, engine), kTolerance);
  // Where the engine is sure, the favourites are the same.
  const auto best = std::get<0>(engine.topk(2, -1));
  const torch::Tensor sure = best.select(1, 0) - best.select(1, 1) > 0.5;
  EXPECT_TRUE((ours.argmax(-1) == engine.argmax(-1)).logical_or(sure.logical_not()).all().item<bool>());
  EXPECT_GT(sure.sum().item<std::int64_t>(), rows / 2);
}

TEST(TorchTarget, RemembersWhatItSaid) {
  const TrainTarget fresh;
  TrainTarget remembering;
  remembering.model.remember(1 << 20);
  const std::vector<int> taps = {2, 4};
  const std::vector<TokenId> tokens = toy_tokens(3, 40);
  const TorchLlama::Output expected = TargetMemory::rounded(fresh.model.forward(tokens, taps));
  const TorchLlama::Output first = remembering.model.forward(tokens, taps);
  const TorchLlama::Output again = remembering.model.forward(tokens, taps);
  EXPECT_EQ(again.favourites.data_ptr(), first.favourites.data_ptr());  // not computed anew
  for (const TorchLlama::Output& out : {first, again}) {
    EXPECT_TRUE(torch::equal(out.last, expected.last));
    for (std::size_t i = 0; i < taps.size(); ++i) EXPECT_TRUE(torch::equal(out.taps[i], expected.taps[i]));
    EXPECT_TRUE(torch::equal(out.favourites, fresh.model.logits(expected.last).argmax(-1)));
  }
  EXPECT_EQ(remembering.model.forward(tokens, std::vector<int>{2}).taps.size(),
            1u);  // other taps, another answer
}

TEST(TorchTarget, RemembersNoMoreThanItMay) {
  TrainTarget target;
  target.model.remember(100);
  const std::vector<TokenId> tokens = toy_tokens(3, 40);
  const TorchLlama::Output first = target.model.forward(tokens), again = target.model.forward(tokens);
  EXPECT_NE(first.favourites.data_ptr(), again.favourites.data_ptr());
}

TEST(TorchTarget, ALessonFromMemoryIsTheSame) {
  const TrainTarget fresh;
  TrainTarget remembering;
  remembering.model.remember(1 << 24);
  const DraftVocabulary vocabulary = fresh.reduced();
  const std::vector<int> taps = {2};
  const Lesson expected = prepare_lesson(fresh.model, std::vector{fresh.data[0]}, taps, &vocabulary);
  for (const torch::Tensor& head : {torch::Tensor(), vocabulary.rows(remembering.model.head())}) {
    const Lesson lesson =
        prepare_lesson(remembering.model, std::vector{remembering.data[0]}, taps, &vocabulary, head);
    EXPECT_EQ(lesson.row_of, expected.row_of);
    EXPECT_LT((lesson.distributions - expected.distributions).abs().max().item<double>(), 1e-2);
  }
}

}  // namespace
}  // namespace augur
