#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/ops.h"

namespace augur {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// The slow way: a stable sort of everything.
std::vector<std::int32_t> reference_top_k(const std::vector<float>& x, int k) {
  std::vector<float> y = x;
  for (float& v : y) {
    if (std::isnan(v)) v = -kInf;
  }
  std::vector<std::int32_t> order(y.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return y[static_cast<std::size_t>(a)] > y[static_cast<std::size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(k)));
  return order;
}

class TopKTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { limit_ops_to(GetParam()); }
  void TearDown() override { limit_ops_to(supported_isas().back()); }

  void check(const std::vector<float>& x, const std::string& what) {
    for (const int k : {1, 2, 8, 10, 64, 128, 129, 1000}) {
      const std::vector<std::int32_t> expected = reference_top_k(x, k);
      std::vector<std::int32_t> indices(expected.size());
      std::vector<float> values(expected.size());
      top_k(x, k, scratch_, indices.data(), values.data());
      ASSERT_EQ(indices, expected) << what << ", n " << x.size() << ", k " << k;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const float v = x[static_cast<std::size_t>(indices[i])];
        ASSERT_EQ(values[i], std::isnan(v) ? -kInf : v);
      }
      std::vector<std::int32_t> without_scratch(expected.size());
      top_k(x, k, without_scratch.data(), values.data());
      ASSERT_EQ(without_scratch, expected) << what;
    }
  }
  TopKScratch scratch_;
};

TEST_P(TopKTest, AgreesWithSorting) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const int n : {1, 3, 20, 64, 255, 256, 257, 600, 5000, 20011}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    const auto fill = [&](auto next) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = next(static_cast<int>(i));
    };
    fill([&](int) { return normal(random); });
    check(x, "normal");
    fill([](int i) { return static_cast<float>(i); });
    check(x, "ascending");
    fill([](int i) { return static_cast<float>(-i); });
    check(x, "descending");
    fill([](int) { return 1.5f; });
    check(x, "constant");
    fill([&](int) { return static_cast<float>(random() % 3); });
    check(x, "ties");
    fill([](int i) { return i % 16 == 0 ? 100.0f + static_cast<float>(i) : 0.0f; });
    check(x, "one lane");
    fill([&](int i) { return i % 40 == 0 ? normal(random) : -kInf; });
    check(x, "mostly forbidden");
    fill([&](int i) { return i % 5 == 0 ? std::numeric_limits<float>::quiet_NaN() : normal(random); });
    check(x, "NaN");
    fill([](int) { return std::numeric_limits<float>::quiet_NaN(); });
    check(x, "only NaN");
  }
}

TEST_P(TopKTest, CollectsTheElementsAboveAThreshold) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> x(3001);
  for (float& v : x) v = normal(random);
  x[17] = std::numeric_limits<float>::quiet_NaN();
  x[18] = 0.25f;
  for (const float threshold : {-kInf, -10.0f, 0.25f, 2.0f, 10.0f}) {
    std::vector<std::int32_t> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] >= threshold) expected.push_back(static_cast<std::int32_t>(i));
    }
    if (threshold == -kInf) expected.insert(expected.begin() + 17, 17);  // NaN counts as -infinity
    std::vector<std::int32_t> found;
    collect_at_least(x, threshold, found);
    ASSERT_EQ(found, expected) << threshold;
  }
}

TEST_P(TopKTest, EntropyOfTheLargest) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> x(5000);
  for (float& v : x) v = normal(random);
  for (const int k : {1, 2, 50, 1000, 5000, 9000}) {
    double z = 0.0;
    for (const std::int32_t i : reference_top_k(x, k))
      z += std::exp(static_cast<double>(x[static_cast<std::size_t>(i)]));
    double entropy = 0.0;
    for (const std::int32_t i : reference_top_k(x, k)) {
      const double p = std::exp(static_cast<double>(x[static_cast<std::size_t>(i)])) / z;
      entropy -= p * std::log(p);
    }
    ASSERT_NEAR(top_entropy(x, k, scratch_), entropy, 1e-5) << k;
  }
  const std::vector<float> equal(40, 7.0f);
  EXPECT_NEAR(top_entropy(equal, 16, scratch_), std::log(16.0), 1e-6);
  const std::vector<float> one = {-kInf, 3.0f, -kInf};
  EXPECT_EQ(top_entropy(one, 3, scratch_), 0.0f);
}

INSTANTIATE_TEST_SUITE_P(Variants, TopKTest, testing::ValuesIn(supported_isas()),
                         [](const testing::TestParamInfo<Isa>& param) {
                           return std::string(name(param.param));
                         });

}  // namespace
}  // namespace augur
