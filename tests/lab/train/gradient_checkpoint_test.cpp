// Gradient checkpoints: the same gradients, from less memory.
#include "lab/train/gradient_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/train/tensor_count.h"
#include "lab/train/training_run.h"
#include "strict_device.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using testing::Not;

/// Of a visit of one pack.
struct Visit {
  Grade grade;
  std::int64_t most = 0, recomputed = 0;
};

Visit visit(Learner& learner, std::span<const Example> examples, bool checkpointing) {
  learner.set_gradient_checkpointing(checkpointing);
  TensorCount count(learner.parameters().front().second.device());
  Visit visit;
  {
    const TensorCount::Watch watch(count);
    visit.grade = learner.run(examples, true);
  }
  visit.most = count.most();
  visit.recomputed = count.recomputed();
  return visit;
}

/// Sequences of 40 tokens.
std::vector<Example> sequences(const Dataset& data, std::int64_t first, std::int64_t count) {
  std::vector<Example> examples;
  for (std::int64_t i = first; i < first + count; ++i) {
    examples.push_back(data[i]);
    examples.back().key = static_cast<std::uint64_t>(i);
  }
  return examples;
}

void expect_same_gradients(Learner& expected, Learner& found) {
  const NamedTensors a = expected.parameters(), b = found.parameters();
  ASSERT_EQ(a.size(), b.size());
  bool some = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const torch::Tensor x = a[i].second.grad(), y = b[i].second.grad();
    ASSERT_EQ(x.defined(), y.defined()) << a[i].first;
    if (!x.defined()) continue;
    some = true;
    EXPECT_TRUE(x.equal(y)) << a[i].first;
  }
  EXPECT_TRUE(some);
}

class Checkpointing : public testing::TestWithParam<PartCase> {
 protected:
  TrainTarget target;
};

TEST_P(Checkpointing, GivesTheSameBits) {
  const auto kept = GetParam().make(target), again = GetParam().make(target);
  for (const std::int64_t first : {0, 7}) {  // the second pack's gradients are added to the first's
    const std::vector<Example> examples = sequences(target.data, first, 7);
    const Visit a = visit(*kept, examples, false), b = visit(*again, examples, true);
    EXPECT_EQ(a.grade.loss, b.grade.loss);
    EXPECT_EQ(a.grade.hits, b.grade.hits);
    EXPECT_EQ(a.recomputed, 0);
    EXPECT_GT(b.recomputed, 0);
    // Of one layer in one step all is computed again at once, while the loss's gradient is still there.
    if (std::string_view(GetParam().name) != "eagle") {
      EXPECT_LE(b.most, a.most);
    }
    EXPECT_LE(a.most, b.most + b.recomputed) << "as TrainingRun::needs() reckons";
  }
  expect_same_gradients(*kept, *again);
}

TEST_P(Checkpointing, LearnsTheSameOnAnotherDevice) {
  TrainTarget there(strict_device());
  const auto kept = GetParam().make(there), again = GetParam().make(there);
  const std::vector<Example> examples = sequences(there.data, 0, 3);
  const Visit a = visit(*kept, examples, false), b = visit(*again, examples, true);
  EXPECT_EQ(a.grade.loss, b.grade.loss);
  EXPECT_GT(b.recomputed, 0);
  expect_same_gradients(*kept, *again);
}

INSTANTIATE_TEST_SUITE_P(Parts, Checkpointing, testing::ValuesIn(all_parts()), part_name);

TEST(GradientCheckpoints, KeepALayerOfMany) {
  TrainTarget target;
  const LmShape shape{.hidden = 64, .intermediate = 256, .layers = 12, .heads = 4, .kv_heads = 2};
  LmLearner deep({.shape = llama_shape(shape, target.checkpoint.config(), "target")});
  const std::vector<Example> examples = sequences(target.data, 0, 20);
  visit(deep, examples, false);  // gradients are there from now on
  const Visit kept = visit(deep, examples, false), again = visit(deep, examples, true);
  EXPECT_LT(3 * again.most, kept.most) << again.most << " of " << kept.most;
}

TEST(GradientCheckpoints, StepsOfAHeadKeepLess) {
  TrainTarget target;
  Eagle3Learner::Options options{.unroll = {.steps = 7, .decay = 0.8, .evaluated = 7}};
  options.taps = default_taps(target.model.config());
  Eagle3Learner head(target.model, target.reduced(), options);
  const std::vector<Example> examples = sequences(target.data, 0, 20);
  visit(head, examples, false);
  const Visit kept = visit(head, examples, false), again = visit(head, examples, true);
  EXPECT_LT(3 * again.most, 2 * kept.most) << again.most << " of " << kept.most;
}

TEST(GradientCheckpoints, PartsWithoutGradientsRunOnce) {
  int runs = 0;
  const auto twice = [&](const torch::Tensor& x) {
    ++runs;
    return 2 * x;
  };
  const torch::Tensor x = torch::ones({3}, torch::requires_grad());
  {
    const torch::NoGradGuard no_grad;
    EXPECT_FALSE(checkpointed(true, twice, x, {}).requires_grad());
    EXPECT_EQ(runs, 1);
  }
  checkpointed(true, twice, x, {}).sum().backward();
  EXPECT_EQ(runs, 3);
  EXPECT_TRUE(x.grad().equal(torch::full({3}, 2.0)));
}

TEST(GradientCheckpoints, LeaveOutWhatNothingDependsOn) {
  const torch::Tensor x = torch::ones({2}, torch::requires_grad()),
                      w = torch::ones({2}, torch::requires_grad());
  const torch::Tensor unused = torch::ones({2}, torch::requires_grad());
  const auto part = [&](const std::vector<torch::Tensor>& in) {
    return std::vector<torch::Tensor>{in[0] * w, in[1] + 1};
  };
  const auto out = checkpointed(true, part, {x, torch::zeros({2})}, {w, unused});
  out[0].sum().backward();
  EXPECT_TRUE(x.grad().equal(torch::ones({2})));
  EXPECT_TRUE(w.grad().equal(torch::ones({2})));
  EXPECT_FALSE(unused.grad().defined());
}

class Decision : public testing::Test {
 protected:
  /// What a run says that it takes where so much is free, with its log's line; then it learns a little.
  TrainingNeeds needs(TrainTarget& target, GradientCheckpointing mode, std::optional<std::int64_t> free,
                      const std::string& folder) {
    MtpLearner first(target.model, {}), second(target.model, {});
    TrainingRun run(first, target.data,
                    {.total_tokens = 800, .step_tokens = 400, .held_out = 4, .gradient_checkpointing = mode},
                    target.folder.path() / folder, {.command = "c"}, [](const std::string&) {});
    run.add_worker(second);
    const TrainingNeeds needs = run.needs([&](torch::Device device) {
      EXPECT_EQ(device, target.model.device());
      return free;
    });
    EXPECT_TRUE(run.train([] { return false; }));
    return needs;
  }
};

TEST_F(Decision, IsByWhatIsFree) {
  TrainTarget target;
  using enum GradientCheckpointing;
  const TrainingNeeds plenty = needs(target, Auto, std::int64_t{1} << 40, "plenty");
  EXPECT_FALSE(plenty.gradient_checkpointing);
  EXPECT_GT(plenty.recomputed_bytes, 0);
  const TrainingNeeds little = needs(target, Auto, plenty.recomputed_bytes, "little");
  EXPECT_TRUE(little.gradient_checkpointing);
  EXPECT_THAT(little.summary(), HasSubstr("; with gradient checkpointing, without which it would take "));
  EXPECT_THAT(plenty.summary(), Not(HasSubstr("checkpointing")));
  EXPECT_FALSE(needs(target, Auto, {}, "unknown").gradient_checkpointing);
  EXPECT_FALSE(needs(target, Off, 0, "off").gradient_checkpointing);
  EXPECT_TRUE(needs(target, On, std::int64_t{1} << 40, "on").gradient_checkpointing);
  for (const char* other : {"little", "unknown", "off", "on"}) {
    for (const char* file : {"checkpoint.safetensors", "model.safetensors", "curve.tsv"}) {
      EXPECT_EQ(content(target.folder.path() / "plenty" / file), content(target.folder.path() / other / file))
          << other << " " << file;
    }
  }
}

TEST_F(Decision, SaysWhatADeviceHolds) {
  TrainTarget target(strict_device());
  using enum GradientCheckpointing;
  std::int64_t target_bytes = 0;  // in bfloat16
  for (const auto& [name, tensor] : target.model.named())
    target_bytes += tensor.numel() * tensor.element_size();
  MtpLearner learner(target.model, {});
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : learner.parameters()) parameters += tensor.numel();
  const TrainingNeeds off = needs(target, Off, {}, "off");
  // Two workers' weights are shared, their gradients are not; moments are the optimizer's.
  const std::int64_t held = target_bytes + static_cast<std::int64_t>(sizeof(float)) * parameters * 5;
  EXPECT_GT(off.device_bytes, held);
  EXPECT_LT(off.device_bytes, held + (64 << 20));
  EXPECT_THAT(off.summary(), HasSubstr(" of memory, at least "));
  const TrainingNeeds on = needs(target, On, {}, "on");
  EXPECT_LT(on.device_bytes, off.device_bytes);
  TrainTarget here;
  EXPECT_EQ(needs(here, Off, {}, "here").device_bytes, 0);
  EXPECT_FALSE(free_memory(strict_device()).has_value());
  EXPECT_GT(free_memory(torch::kCPU).value_or(0), 1 << 20);
}

TEST(TensorCounts, AreOfADeviceAndAThread) {
  const TensorCount count(torch::kCPU);
  {
    const TensorCount::Watch watch(count);
    const torch::Tensor a = torch::empty({1000});
    EXPECT_GE(count.live(), 4000);
    { const torch::Tensor b = torch::empty({5000}); }
    const torch::Tensor there = torch::empty({1 << 20}, strict_device());
    EXPECT_LT(count.live(), 20'000);
  }
  EXPECT_GE(count.most(), 24'000);
  EXPECT_LT(count.most(), 40'000);
  EXPECT_LT(count.live(), 1000);
  const torch::Tensor unwatched = torch::empty({1 << 20});
  EXPECT_LT(count.most(), 40'000);
}

}  // namespace
}  // namespace augur
