// Every learner on another device than the CPU: nothing is made on the wrong one, and it learns the same.
#include "lab/train/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/train/classifier.h"
#include "lab/train/training_run.h"
#include "product_type.h"
#include "strict_device.h"
#include "support/error_of.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;
using testing::HasSubstr;

TEST(Device, IsChosenByName) {
  EXPECT_EQ(choose_device("cpu"), torch::Device(torch::kCPU));
  for (const char* name : {"gpu", "", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "cuda:0 "}) {
    EXPECT_THAT(error_of([&] { choose_device(name); }), HasSubstr("expected auto, cpu, cuda or cuda:N"))
        << name;
  }
  if (torch::cuda::device_count() > 0) {
    EXPECT_EQ(choose_device("auto"), torch::Device(torch::kCUDA, 0));
    EXPECT_THAT(error_of([] { choose_device("cuda:100"); }), HasSubstr("CUDA devices"));
  } else {
    EXPECT_EQ(choose_device("auto"), torch::Device(torch::kCPU));
    EXPECT_THAT(error_of([] { choose_device("cuda:1"); }), HasSubstr("--device cuda:1: "));
  }
}

TEST(Device, TheStrictOneRefusesTheCpusTensors) {
  const torch::Tensor there = torch::ones({2, 3}, strict_device());
  EXPECT_EQ((there + there).sum().item<double>(), 12);
  EXPECT_ANY_THROW(there + torch::ones({3}));
  EXPECT_ANY_THROW(there.index_select(0, torch::zeros({1}, torch::kInt64)));
  EXPECT_ANY_THROW(torch::cat({there, torch::ones({2, 3})}));
  EXPECT_ANY_THROW(torch::linear(there, torch::ones({4, 3})));
}

class OnAnotherDevice : public testing::TestWithParam<PartCase> {
 protected:
  std::vector<Example> lesson() const {
    Example example{tokens, learn};
    example.key = 7;
    return {example};
  }
  TrainTarget here{torch::kCPU, TargetForward::Libtorch};
  TrainTarget there{strict_device()};
  const std::vector<TokenId> tokens = toy_tokens(99, 30);
  const std::vector<std::uint8_t> learn = std::vector<std::uint8_t>(30, 1);
};

TEST_P(OnAnotherDevice, LearnsTheSame) {
  const ProductType exact(torch::kFloat32);  // rounded products would hide what differs
  const auto a = GetParam().make(here);
  const auto b = GetParam().make(there);
  const Grade expected = a->run(lesson(), true);
  const Grade found = b->run(lesson(), true);
  EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_EQ(found.hits, expected.hits);
  EXPECT_GT(found.rows, 0);
  const NamedTensors mine = a->parameters(), theirs = b->parameters();
  ASSERT_EQ(mine.size(), theirs.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto& [name, parameter] = theirs[i];
    EXPECT_EQ(parameter.device(), strict_device()) << name;
    EXPECT_TRUE(parameter.cpu().equal(mine[i].second)) << name << ": a start of its own";
    const torch::Tensor gradient = mine[i].second.grad();
    ASSERT_EQ(parameter.grad().defined(), gradient.defined()) << name;
    if (!gradient.defined()) continue;
    EXPECT_EQ(parameter.grad().device(), strict_device()) << name;
    const double size = gradient.norm().item<double>();
    EXPECT_LE((parameter.grad().cpu() - gradient).norm().item<double>(), 1e-4 * size) << name;
  }
  EXPECT_EQ(b->draft_logits(lesson().front(), 17).device(), strict_device());
}

/// A run that began on one device goes on on the other, and what it saves is a file as any.
TEST_P(OnAnotherDevice, ItsCheckpointGoesOnHere) {
  const TrainingOptions options{
      .total_tokens = 900, .step_tokens = 200, .learning_rate = 3e-3, .held_out = 4};
  const auto no_log = [](const std::string&) {};
  const std::filesystem::path moved = here.folder.path() / "moved", stayed = here.folder.path() / "stayed";
  const auto half = [&](TrainTarget& target, const std::filesystem::path& folder) {
    const auto learner = GetParam().make(target);
    TrainingRun run(*learner, target.data, options, folder, {.command = "c"}, no_log);
    run.train([&] { return run.tokens() >= 400; });
  };
  const auto rest = [&](const std::filesystem::path& folder) {
    const auto learner = GetParam().make(here);
    TrainingRun run(*learner, here.data, options, folder, {.command = "c"}, no_log);
    EXPECT_GE(run.tokens(), 400);
    EXPECT_TRUE(run.train([] { return false; }));
    return run.evaluate().mean_loss();
  };
  half(there, moved);
  half(here, stayed);
  const double loss = rest(stayed);
  EXPECT_NEAR(rest(moved), loss, 0.01 * loss);
}

INSTANTIATE_TEST_SUITE_P(Parts, OnAnotherDevice, testing::ValuesIn(all_parts()), part_name);

TEST(Device, ClassifiersLearnThere) {
  Examples examples;
  examples.width = 3;
  for (int i = 0; i < 200; ++i) {
    for (int f = 0; f < 3; ++f) examples.features.push_back(static_cast<float>((i * (f + 3)) % 11) / 11);
    examples.labels.push_back((i * 3) % 11 > 5);
  }
  for (const bool c2t : {true, false}) {
    const auto probabilities_on = [&](torch::Device device) {
      Classifier classifier =
          c2t ? c2t_classifier(8, {1, 1, 1}, 3, device) : acceptance_classifier(3, 1, 3, device);
      EXPECT_EQ(classifier.device(), device);
      fit(classifier, examples, {.epochs = 2, .batch = 64});
      return probabilities(classifier, examples);
    };
    EXPECT_THAT(probabilities_on(strict_device()),
                testing::Pointwise(testing::FloatNear(1e-4f), probabilities_on(torch::kCPU)));
  }
}

}  // namespace
}  // namespace augur
