// Attention of packs against each row's softmax written out, and its gradients against autograd's.
#include "lab/train/packed_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/train/torch_ops.h"
#include "strict_device.h"

namespace augur {
namespace {

using namespace testing_support;

constexpr std::int64_t kHeads = 6, kKvHeads = 2, kWidth = 16;
const std::vector<std::int64_t> kLengths = {5, 40, 1, 33, 17, 38};

struct Tensors {
  torch::Tensor q, k, v, own_k, own_v;
  std::vector<torch::Tensor> all() const {
    return own_k.defined() ? std::vector{q, k, v, own_k, own_v} : std::vector{q, k, v};
  }
};

Tensors random_tensors(std::int64_t rows, std::int64_t own, torch::ScalarType type, torch::Device device) {
  torch::Generator generator = keyed_generator(3);
  const auto leaf = [&](std::vector<std::int64_t> shape) {
    return (torch::randn(shape, generator) * 1.5).to(torch::kBFloat16).to(device, type).requires_grad_(true);
  };
  Tensors t{
      leaf({rows, kHeads, kWidth}), leaf({rows, kKvHeads, kWidth}), leaf({rows, kKvHeads, kWidth}), {}, {}};
  if (own > 0) {
    t.own_k = leaf({own, rows, kKvHeads, kWidth});
    t.own_v = leaf({own, rows, kKvHeads, kWidth});
  }
  return t;
}

/// Row by row and head by head, in float64.
torch::Tensor plain(const Tensors& t, const AttentionRule& rule) {
  std::vector<torch::Tensor> rows;
  std::int64_t begin = 0;
  for (const std::int64_t length : kLengths) {
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t first = rule.window > 0 ? std::max<std::int64_t>(0, i + 1 - rule.window) : 0;
      std::vector<torch::Tensor> heads;
      for (std::int64_t h = 0; h < kHeads; ++h) {
        const std::int64_t kv = h / (kHeads / kKvHeads);
        const auto seen = [&](const torch::Tensor& x, const torch::Tensor& own) {
          const torch::Tensor common = x.select(1, kv).slice(0, begin + first, begin + i + 1);
          return own.defined() ? torch::cat({common, own.select(2, kv).select(1, begin + i)}) : common;
        };
        torch::Tensor scores = seen(t.k, t.own_k).mv(t.q[begin + i][h]) * rule.scale;
        if (rule.cap > 0) scores = (scores / rule.cap).tanh() * rule.cap;
        heads.push_back(scores.softmax(0).matmul(seen(t.v, t.own_v)));
      }
      rows.push_back(torch::stack(heads));
    }
    begin += length;
  }
  return torch::stack(rows);
}

double difference(const torch::Tensor& found, const torch::Tensor& expected) {
  const torch::Tensor here = found.cpu().to(torch::kFloat64);
  return ((here - expected).norm() / expected.norm()).item<double>();
}

struct Case {
  const char* name;
  std::int64_t own;
  AttentionRule rule;
};

class PackedAttention : public testing::TestWithParam<Case> {
 protected:
  void expect_plain(torch::ScalarType type, torch::Device device, double tolerance) const {
    const auto layout = c10::make_intrusive<PackLayout>(kLengths, device);
    const Tensors t = random_tensors(layout->rows(), GetParam().own, type, device);
    const Tensors exact = random_tensors(layout->rows(), GetParam().own, torch::kFloat64, torch::kCPU);
    torch::Generator generator = keyed_generator(4);
    const torch::Tensor weights =
        torch::randn({layout->rows(), kHeads, kWidth}, generator).to(torch::kBFloat16).to(torch::kFloat64);
    const torch::Tensor found = packed_attention(t.q, t.k, t.v, t.own_k, t.own_v, layout, GetParam().rule);
    const torch::Tensor expected = plain(exact, GetParam().rule);
    EXPECT_EQ(found.scalar_type(), type);
    EXPECT_EQ(found.device(), device);
    EXPECT_LT(difference(found, expected), tolerance);
    const auto a = torch::autograd::grad({found}, t.all(), {weights.to(device, type)});
    const auto b = torch::autograd::grad({expected}, exact.all(), {weights});
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].scalar_type(), type) << i;
      EXPECT_LT(difference(a[i], b[i]), tolerance) << "gradient " << i;
    }
  }
};

TEST_P(PackedAttention, IsPlainAttentionInFloat32) {
  expect_plain(torch::kFloat32, torch::kCPU, 1e-5);
}

TEST_P(PackedAttention, IsNearPlainAttentionInBfloat16) {
  expect_plain(torch::kBFloat16, torch::kCPU, 0.02);
}

TEST_P(PackedAttention, IsTheSameOnAnotherDevice) {
  expect_plain(torch::kFloat32, strict_device(), 1e-5);
  expect_plain(torch::kBFloat16, strict_device(), 0.02);
}

constexpr AttentionRule kPlain{.scale = 0.25}, kCapped{.scale = 0.25, .cap = 2},
    kNear{.scale = 0.25, .window = 7}, kBoth{.scale = 0.3, .cap = 3, .window = 12};

INSTANTIATE_TEST_SUITE_P(Rules, PackedAttention,
                         testing::Values(Case{"causal", 0, kPlain}, Case{"capped", 0, kCapped},
                                         Case{"windowed", 0, kNear}, Case{"one_own_key", 1, kPlain},
                                         Case{"three_own_keys", 3, kPlain},
                                         Case{"own_keys_capped", 2, kBoth}),
                         [](const auto& test) { return test.param.name; });

TEST(PackLayout, PutsEveryRowInOnePlace) {
  const PackLayout layout(kLengths, torch::kCPU);
  EXPECT_EQ(layout.rows(), 134);
  EXPECT_EQ(layout.longest(), 40);
  std::vector<torch::Tensor> rows;
  for (const PackLayout::Bucket& bucket : layout.buckets()) {
    rows.push_back(bucket.rows.flatten());
    const std::int64_t length = bucket.rows.size(1);
    const double most =
        bucket.valid.defined() ? bucket.valid.sum(1).max().item<double>() : static_cast<double>(length);
    EXPECT_LT(static_cast<double>(length) - most, 16);
  }
  EXPECT_LT(layout.buckets().size(), kLengths.size());
  EXPECT_TRUE(torch::cat(rows).index_select(0, layout.places()).equal(torch::arange(134)));
  EXPECT_TRUE(layout.bounds().equal(torch::tensor({0, 5, 45, 46, 79, 96, 134}, torch::kInt32)));
  EXPECT_TRUE(layout.positions().slice(0, 3, 9).equal(torch::tensor({3, 4, 0, 1, 2, 3}, torch::kInt64)));
  EXPECT_TRUE(layout.rows_ahead(2).slice(0, 1, 7).equal(torch::tensor({3, 4, 4, 4, 7, 8}, torch::kInt64)));
}

}  // namespace
}  // namespace augur
