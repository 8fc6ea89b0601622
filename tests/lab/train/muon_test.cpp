#include "lab/train/muon.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/train/optimizer.h"
#include "lab/train/torch_ops.h"

namespace augur {
namespace {

TEST(Muon, MovesAllDirectionsAlike) {
  torch::Generator generator = keyed_generator(3);
  struct Case {
    std::int64_t rows, columns;
  };
  for (const auto& [rows, columns] : {Case{48, 48}, Case{32, 96}, Case{96, 32}}) {
    // Singular values from 1 to 1/100: a step along the gradient itself would hardly move the last ones.
    const torch::Tensor scales = torch::logspace(0, -2, columns);
    const torch::Tensor momentum = torch::randn({rows, columns}, generator) * scales;
    const torch::Tensor step = muon_directions({momentum}).at(0);
    ASSERT_EQ(step.sizes(), momentum.sizes());
    const torch::Tensor sizes =
        torch::linalg_svdvals(step) / (0.2 * std::sqrt(static_cast<double>(std::max(rows, columns))));
    EXPECT_LT(sizes.max().item<double>(), 1.3);
    EXPECT_GT(sizes.median().item<double>(), 0.6);
    EXPECT_GT((step * momentum).sum().item<double>(), 0);
    // The size of AdamW's, about 0.2 a weight.
    EXPECT_NEAR(step.square().mean().sqrt().item<double>(), 0.2, 0.05);
  }
}

TEST(Muon, MovesEachOfManyAsItWouldAlone) {
  torch::Generator generator = keyed_generator(4);
  std::vector<torch::Tensor> momenta;
  for (const auto& [rows, columns] : {std::pair{32, 96}, {96, 32}, {48, 48}, {32, 96}, {64, 96}})
    momenta.push_back(torch::randn({rows, columns}, generator) * (1.0 + std::size(momenta)));
  const std::vector<torch::Tensor> together = muon_directions(momenta);
  ASSERT_EQ(together.size(), momenta.size());
  for (std::size_t i = 0; i < momenta.size(); ++i) {
    const torch::Tensor alone = muon_directions({momenta[i]}).at(0);
    ASSERT_EQ(together[i].sizes(), momenta[i].sizes()) << i;
    EXPECT_LT(((together[i] - alone).norm() / alone.norm()).item<double>(), 1e-2) << i;  // bfloat16
  }
  EXPECT_TRUE(muon_directions({}).empty());
}

TEST(Muon, LeavesVectorsToAdamW) {
  EXPECT_TRUE(is_muons(torch::zeros({1536, 576})));
  EXPECT_TRUE(is_muons(torch::zeros({576, 1728})));
  EXPECT_FALSE(is_muons(torch::zeros({1, 576})));
  EXPECT_FALSE(is_muons(torch::zeros({576})));
}

// A vocabulary's table may have the shape of a matrix between states.
TEST(Muon, LeavesTablesToAdamW) {
  NamedTensors tensors;
  for (const char* name : {"table", "matrix"}) {
    torch::Generator generator = keyed_generator(3);
    tensors.emplace_back(name, torch::zeros({48, 32}, torch::requires_grad()));
    tensors.back().second.mutable_grad() = torch::randn({48, 32}, generator);
  }
  Optimizer optimizer(tensors, [](std::string_view name) { return name == "table"; },
                      {.rate = 1, .schedule = {.final_rate = 1}, .clip = 1e3, .muon = true});
  optimizer.step(1, 0);
  // The first step of AdamW has the same size everywhere.
  EXPECT_TRUE(tensors[0].second.abs().allclose(torch::ones({48, 32}), 1e-4));
  EXPECT_FALSE(tensors[1].second.abs().allclose(torch::ones({48, 32}), 1e-4));
}

}  // namespace
}  // namespace augur
