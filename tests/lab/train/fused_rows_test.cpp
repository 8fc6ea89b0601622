// Rows worked through one by one are what libtorch's operators make of them, forwards and backwards.
#include "lab/train/fused_rows.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "lab/train/torch_ops.h"

namespace augur {
namespace {

using Inputs = std::vector<torch::Tensor>;
using Operation = std::function<torch::Tensor(const Inputs&)>;

/// The result, and the gradients of a weighed sum of it.
Inputs results(const Operation& operation, const Inputs& inputs) {
  Inputs leaves;
  for (const torch::Tensor& x : inputs) leaves.push_back(x.detach().clone().requires_grad_(true));
  const torch::Tensor out = operation(leaves);
  torch::Generator generator = keyed_generator(99);
  const torch::Tensor weights = torch::randn(out.sizes(), generator);
  (out.to(torch::kFloat32) * weights).sum().backward();
  Inputs all = {out.detach()};
  for (const torch::Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

void expect_same(const Operation& fused, const Operation& plain, const Inputs& inputs, double tolerance) {
  const Inputs found = results(fused, inputs), expected = results(plain, inputs);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].sizes(), expected[i].sizes()) << i;
    ASSERT_EQ(found[i].scalar_type(), expected[i].scalar_type()) << i;
    const torch::Tensor wanted = expected[i].to(torch::kFloat64);
    const double error = ((found[i].to(torch::kFloat64) - wanted).norm() / wanted.norm()).item<double>();
    EXPECT_LT(error, tolerance) << i;
  }
  at::set_num_threads(1);
  const Inputs alone = results(fused, inputs);
  at::set_num_threads(3);
  const Inputs together = results(fused, inputs);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(torch::equal(alone[i], together[i])) << i;
}

class FusedRows : public testing::TestWithParam<torch::Dtype> {
 protected:
  torch::Tensor random(const std::vector<std::int64_t>& sizes) {
    return (torch::randn(sizes, generator) * 2).to(GetParam());
  }
  double tolerance() const { return GetParam() == torch::kFloat32 ? 1e-6 : 6e-3; }

  torch::Generator generator = keyed_generator(5);
};

TEST_P(FusedRows, NormThem) {
  for (const std::int64_t width : {1, 16, 37, 96}) {
    const Inputs inputs = {random({600, width}), torch::rand({width}, generator) + 0.5};
    expect_same([](const Inputs& x) { return normed_rows(x[0], x[1], 1e-5); },
                [](const Inputs& x) {
                  const torch::Tensor f = x[0].to(torch::kFloat32);
                  return f * torch::rsqrt(f.square().mean(-1, true) + 1e-5) * x[1];
                },
                inputs, width == 1 ? 1e-2 : tolerance());  // of one number nearly nothing is left to differ
  }
}

TEST_P(FusedRows, NormHeads) {
  expect_same([](const Inputs& x) { return normed_rows(x[0], x[1], 1e-5); },
              [](const Inputs& x) {
                const torch::Tensor f = x[0].to(torch::kFloat32);
                return f * torch::rsqrt(f.square().mean(-1, true) + 1e-5) * x[1];
              },
              {random({50, 3, 8}), torch::rand({8}, generator)}, tolerance());
}

TEST_P(FusedRows, GateThem) {
  const auto plain = [](const Inputs& x) {
    const torch::Tensor g = x[0].to(torch::kFloat32), u = x[1].to(torch::kFloat32);
    return (torch::silu(g) * u).to(x[0].scalar_type());
  };
  for (const std::int64_t width : {1, 33, 64})
    expect_same([](const Inputs& x) { return gated_rows(x[0], x[1]); }, plain,
                {random({300, width}), random({300, width})}, tolerance());
  const torch::Tensor far = torch::tensor({{-1e4f, -90.0f, 90.0f, 1e4f, 0.0f}}).to(GetParam());
  for (const torch::Tensor& x :
       results([](const Inputs& in) { return gated_rows(in[0], in[1]); }, {far, torch::ones_like(far)}))
    EXPECT_TRUE(x.isfinite().all().item<bool>()) << x;
}

TEST_P(FusedRows, RotateThem) {
  for (const std::int64_t dims : {8, 4}) {  // all of a head, or its first half
    const torch::Tensor angles = torch::rand({70, dims / 2}, generator) * 6;
    const torch::Tensor both = torch::cat({angles, angles}, 1);
    const torch::Tensor cos = both.cos(), sin = both.sin();
    expect_same([&](const Inputs& x) { return rotated_rows(x[0], cos, sin); },
                [&](const Inputs& x) {
                  const torch::Tensor f = x[0].to(torch::kFloat32), turned = f.slice(-1, 0, dims);
                  const auto halves = turned.chunk(2, -1);
                  return torch::cat(
                      {turned * cos.unsqueeze(1) + torch::cat({-halves[1], halves[0]}, -1) * sin.unsqueeze(1),
                       f.slice(-1, dims)},
                      -1);
                },
                {random({70, 3, 8})}, tolerance());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FusedRows, testing::Values(torch::kFloat32, torch::kBFloat16));

}  // namespace
}  // namespace augur
