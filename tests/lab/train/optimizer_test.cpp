// What moves parameters: which, by how much, and what a checkpoint keeps of it.
#include "lab/train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files/safetensors.h"
#include "lab/train/torch_ops.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::TemporaryFolder;

bool no_table(std::string_view) {
  return false;
}

/// A matrix and a vector of ones.
NamedTensors some_parameters() {
  return {{"matrix", torch::ones({32, 32}, torch::requires_grad())},
          {"vector", torch::ones({32}, torch::requires_grad())}};
}

void add_gradients(NamedTensors& parameters, std::uint64_t key) {
  torch::Generator generator = keyed_generator(key);
  for (auto& [name, tensor] : parameters) tensor.mutable_grad() = torch::randn(tensor.sizes(), generator);
}

TEST(Schedule, WarmsUpThenFollowsACosine) {
  const Schedule schedule{.warmup = 0.1, .final_rate = 0.2};
  EXPECT_DOUBLE_EQ(schedule.at(0.0), 0.01);
  EXPECT_DOUBLE_EQ(schedule.at(0.05), 0.51);
  EXPECT_DOUBLE_EQ(schedule.at(0.1), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(0.55), 0.6);
  EXPECT_DOUBLE_EQ(schedule.at(1.0), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(1.1), 0.2);
}

TEST(Schedule, MovesEveryGroupFromItsOwnRate) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (const double rate : {1.0, 0.25})
    groups.emplace_back(std::vector{torch::ones({1}, torch::requires_grad())},
                        std::make_unique<torch::optim::AdamWOptions>(rate));
  torch::optim::AdamW adamw(std::move(groups));
  Scheduler scheduler(adamw, {.final_rate = 0});
  for (const double along : {0.9, 0.5}) scheduler.advance_to(along);  // not relative to the last
  EXPECT_DOUBLE_EQ(adamw.param_groups()[0].options().get_lr(), 0.5);
  EXPECT_DOUBLE_EQ(adamw.param_groups()[1].options().get_lr(), 0.125);
}

TEST(Optimizer, MovesByTheMeanGradientWithinTheClip) {
  NamedTensors parameters = some_parameters();
  Optimizer optimizer(parameters, no_table, {.rate = 0, .clip = 0.5});
  for (auto& [name, tensor] : parameters) tensor.mutable_grad() = torch::full(tensor.sizes(), 8.0);
  const double norm = optimizer.step(4, 0);
  EXPECT_NEAR(norm, 2 * std::sqrt(32.0 * 32 + 32), 1e-3);
  double squares = 0;
  for (const auto& [name, tensor] : parameters) squares += tensor.grad().square().sum().item<double>();
  EXPECT_NEAR(std::sqrt(squares), 0.5, 1e-5);
}

TEST(Optimizer, DecaysMatricesOnly) {
  for (const bool muon : {false, true}) {
    NamedTensors parameters = some_parameters();
    Optimizer optimizer(parameters, no_table,
                        {.rate = 0.5, .schedule = {.final_rate = 1}, .weight_decay = 0.5, .muon = muon});
    for (auto& [name, tensor] : parameters) tensor.mutable_grad() = torch::zeros(tensor.sizes());
    optimizer.step(1, 0);
    EXPECT_TRUE(parameters[0].second.allclose(torch::full({32, 32}, 0.75))) << muon;
    EXPECT_TRUE(parameters[1].second.equal(torch::ones({32}))) << muon;
  }
}

TEST(Optimizer, LeavesWhatHasNoGradient) {
  NamedTensors parameters = some_parameters();
  Optimizer optimizer(parameters, no_table, {.rate = 0.5, .weight_decay = 0.5});
  for (const bool first : {true, false}) {
    optimizer.clear_gradients();
    const torch::Tensor before = parameters[0].second.detach().clone();
    if (first) {
      add_gradients(parameters, 1);
    } else {
      parameters[1].second.mutable_grad() = torch::ones({32});
    }
    optimizer.step(1, 0);
    EXPECT_EQ(parameters[0].second.equal(before), !first);
  }
}

TEST(Optimizer, MovesNothingByAGradientThatIsNotFinite) {
  NamedTensors parameters = some_parameters();
  Optimizer optimizer(parameters, no_table, {.rate = 0.5});
  parameters[0].second.mutable_grad() = torch::ones({32, 32});
  parameters[1].second.mutable_grad() = torch::full({32}, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(std::isfinite(optimizer.step(1, 0)));
  for (const auto& [name, tensor] : parameters)
    EXPECT_TRUE(tensor.equal(torch::ones(tensor.sizes()))) << name;
}

// A parameter's first gradient may come after a checkpoint.
TEST(Optimizer, GoesOnFromItsStateBitForBit) {
  const TemporaryFolder folder;
  for (const bool muon : {false, true}) {
    const Optimizer::Options options{.rate = 0.1, .schedule = {.final_rate = 1}, .muon = muon};
    NamedTensors whole = some_parameters(), pieces = some_parameters();
    Optimizer first(whole, no_table, options);
    add_gradients(whole, 1);
    whole[1].second.mutable_grad() = torch::Tensor();
    first.step(1, 0);
    save_tensors(folder.path() / "state.safetensors", first.state());
    {
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < whole.size(); ++i) pieces[i].second.copy_(whole[i].second);
    }
    Optimizer second(pieces, no_table, options);
    second.load_state(*open_safetensors(folder.path() / "state.safetensors"), 1);
    for (const auto& [optimizer, parameters] : {std::pair(&first, &whole), std::pair(&second, &pieces)}) {
      for (const std::uint64_t key : {2u, 3u}) {
        add_gradients(*parameters, key);
        optimizer->step(1, 0);
      }
    }
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_TRUE(whole[i].second.equal(pieces[i].second)) << whole[i].first << muon;
  }
}

}  // namespace
}  // namespace augur
