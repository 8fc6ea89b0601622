#include "kernels/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/dtype.h"

namespace augur {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> normals(std::int64_t n, std::uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}

/// Lengths around every vector size's remainder.
const std::vector<std::int64_t> kLengths = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 576, 1537};

class OpsTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { limit_ops_to(GetParam()); }
  void TearDown() override { limit_ops_to(supported_isas().back()); }

  /// Runs `op` in this variant and in the portable one and expects the same bits.
  template <class Op>
  void expect_portable_bits(const Op& op) {
    const auto here = op();
    limit_ops_to(Isa::Portable);
    const auto portable = op();
    limit_ops_to(GetParam());
    ASSERT_EQ(here.size(), portable.size());
    ASSERT_EQ(std::memcmp(here.data(), portable.data(), here.size() * sizeof(here[0])), 0);
  }
};

TEST_P(OpsTest, RmsNorm) {
  for (const std::int64_t n : kLengths) {
    const std::vector<float> x = normals(n, 1, 3.0f);
    const std::vector<float> weight = normals(n, 2);
    std::vector<float> out(x.size());
    rms_norm(x.data(), weight.data(), 1e-5f, n, InputForm::F32, out.data());
    double squares = 0.0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    // Half the relative error of the sum (at most n/16 + 5 additions and a square each), and four roundings.
    const double relative = (static_cast<double>(n) / 32 + 8) * 0x1p-24;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = x[i] * inverse * weight[i];
      ASSERT_NEAR(out[i], expected, std::abs(expected) * relative) << n;
    }
    std::vector<BF16> rounded(x.size());
    rms_norm(x.data(), weight.data(), 1e-5f, n, InputForm::BF16, rounded.data());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(rounded[i], to_bf16(out[i]));
    expect_portable_bits([&] {
      std::vector<float> y(x.size());
      rms_norm(x.data(), weight.data(), 1e-5f, n, InputForm::F32, y.data());
      return y;
    });
  }
}

TEST_P(OpsTest, SiluMul) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> gate = normals(n, 3, 4.0f);
    const std::vector<float> up = normals(n, 4);
    gate[0] = n % 2 == 0 ? 200.0f : -200.0f;
    std::vector<float> out(gate.size());
    silu_mul(gate.data(), up.data(), n, InputForm::F32, out.data());
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double v = gate[i];
      const double expected = v / (1.0 + std::exp(-v)) * up[i];
      // Far out on the left e^-v stops growing at e^88.
      ASSERT_NEAR(out[i], expected, std::abs(expected) * 8 * 0x1p-24 + 1e-34) << v;
    }
    expect_portable_bits([&] {
      std::vector<BF16> y(gate.size());
      silu_mul(gate.data(), up.data(), n, InputForm::BF16, y.data());
      return y;
    });
  }
}

TEST_P(OpsTest, SquaredRelu) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> x = normals(n, 5, 4.0f);
    x[0] = n % 2 == 0 ? kNaN : -kInf;
    std::vector<float> out(x.size());
    squared_relu(x.data(), n, InputForm::F32, out.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        ASSERT_TRUE(std::isnan(out[i]));
      } else {
        ASSERT_EQ(out[i], x[i] > 0 ? x[i] * x[i] : 0.0f) << x[i];
      }
    }
    expect_portable_bits([&] {
      std::vector<BF16> y(x.size());
      squared_relu(x.data(), n, InputForm::BF16, y.data());
      return y;
    });
  }
}

TEST_P(OpsTest, ConvertRowRoundsAsToBf16) {
  std::vector<float> x = normals(75, 5, 100.0f);
  const float special[] = {0.0f, -0.0f, kInf, -kInf, kNaN, -kNaN, 1e-40f, 3.4e38f, 1.00390625f, 1.01171875f};
  x.insert(x.begin(), std::begin(special), std::end(special));
  std::vector<BF16> rounded(x.size());
  convert_row(x.data(), static_cast<std::int64_t>(x.size()), InputForm::BF16, rounded.data());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(rounded[i].bits, to_bf16(x[i]).bits) << x[i];
  std::vector<float> copy(x.size());
  convert_row(x.data(), static_cast<std::int64_t>(x.size()), InputForm::F32, copy.data());
  ASSERT_EQ(std::memcmp(copy.data(), x.data(), x.size() * sizeof(float)), 0);
}

TEST_P(OpsTest, RopeRotateAndAddRow) {
  for (const std::int64_t n : {2, 8, 64, 90, 128}) {
    const std::vector<float> x = normals(n, 6);
    const std::vector<float> cos = normals(n / 2, 7);
    const std::vector<float> sin = normals(n / 2, 8);
    std::vector<float> y = x;
    rope_rotate(y.data(), cos.data(), sin.data(), n);
    const auto half = static_cast<std::size_t>(n / 2);
    for (std::size_t i = 0; i < half; ++i) {
      ASSERT_EQ(y[i], x[i] * cos[i] - x[i + half] * sin[i]);
      ASSERT_EQ(y[i + half], x[i + half] * cos[i] + x[i] * sin[i]);
    }
    const std::vector<float> before = y;
    add_row(y.data(), x.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], before[i] + x[i]);
  }
}

TEST_P(OpsTest, ArgmaxTakesTheFirstOfEquals) {
  std::mt19937 random(9);
  for (const std::int64_t n : {1, 5, 16, 63, 64, 65, 200, 1000}) {
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<float> x(static_cast<std::size_t>(n));
      for (float& v : x) v = static_cast<float>(random() % 7) - 20.0f;  // many ties
      if (trial % 3 == 0) x[random() % x.size()] = kNaN;
      std::size_t expected = 0;
      float best = -kInf;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] > best) {
          best = x[i];
          expected = i;
        }
      }
      ASSERT_EQ(argmax(x.data(), n), static_cast<std::int64_t>(expected));
    }
  }
  const std::vector<float> none(40, -kInf);
  EXPECT_EQ(argmax(none.data(), 40), 0);
  const float signed_zeros[] = {-1.0f, -0.0f, 0.0f};
  EXPECT_EQ(argmax(signed_zeros, 3), 1);
}

TEST_P(OpsTest, InvalidLogitsAreFound) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> x = normals(n, 10);
    x[0] = -kInf;
    EXPECT_EQ(first_invalid_logit(x.data(), n), -1);
    for (const std::int64_t at : {n - 1, n / 2, std::int64_t{0}}) {
      x[static_cast<std::size_t>(at)] = at % 2 == 0 ? kNaN : kInf;
      EXPECT_EQ(first_invalid_logit(x.data(), n), at);
    }
  }
}

TEST_P(OpsTest, ExponentialIsAccurateOverItsRange) {
  std::vector<float> x;
  for (float v = -86.99f; v < 88.0f; v += 0.0371f) x.push_back(v);
  std::vector<float> y(x.size());
  exp_row(x.data(), static_cast<std::int64_t>(x.size()), 0.0f, 1.0f, y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(static_cast<double>(x[i]));
    ASSERT_NEAR(y[i], expected, expected * 2.5 * 0x1p-24) << x[i];
  }
  const float edge[] = {0.0f, -87.5f, -kInf, 1000.0f, kInf, kNaN};
  float e[6];
  exp_row(edge, 6, 0.0f, 1.0f, e);
  EXPECT_EQ(e[0], 1.0f);
  EXPECT_EQ(e[1], 0.0f);
  EXPECT_EQ(e[2], 0.0f);
  EXPECT_TRUE(std::isfinite(e[3]) && e[3] > 1e38f);
  EXPECT_EQ(e[4], e[3]);
  EXPECT_TRUE(std::isnan(e[5]));
}

TEST_P(OpsTest, GatesOfStatesAreAccurateOverTheirRange) {
  std::vector<float> x;
  for (float v = -86.0f; v < 86.0f; v += 0.0371f) x.push_back(v);
  for (float v = -1.5f; v < 1.5f; v += 0.00071f) x.push_back(v);
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<float> bias(x.size(), 0.0f), rates(x.size(), -0.375f);
  std::vector<float> steps(x.size()), shares(x.size()), alphas(x.size());
  softplus_row(x.data(), bias.data(), n, steps.data());
  sigmoid_row(x.data(), n, shares.data());
  decay_row(steps.data(), rates.data(), n, alphas.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto v = static_cast<double>(x[i]);
    const double step = std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v)));
    ASSERT_NEAR(steps[i], step, step * 4 * 0x1p-24) << x[i];
    ASSERT_NEAR(shares[i], 1 / (1 + std::exp(-v)), 4 * 0x1p-24 / (1 + std::exp(-v))) << x[i];
    ASSERT_NEAR(alphas[i], std::exp(-0.375 * steps[i]), 36 * 0x1p-24 * std::exp(-0.375 * steps[i])) << x[i];
  }
  const float edge[] = {-kInf, kInf, kNaN, -200.0f};
  const float none[4] = {}, one[] = {-1.0f, -1.0f, -1.0f, -1.0f};
  float e[4], a[4];
  softplus_row(edge, none, 4, e);
  decay_row(e, one, 4, a);
  EXPECT_EQ(e[0], 0.0f);
  EXPECT_EQ(e[1], kInf);
  EXPECT_TRUE(std::isnan(e[2]) && std::isnan(a[2]));
  EXPECT_EQ(e[3], 0.0f);
  EXPECT_EQ(a[0], 1.0f);
  EXPECT_EQ(a[1], 0.0f);
}

TEST_P(OpsTest, SoftmaxAndSums) {
  for (const std::int64_t n : kLengths) {
    std::vector<float> x = normals(n, 11, 5.0f);
    for (float& v : x) v += 300.0f;
    if (n > 4) x[3] = -kInf;
    double sum = 0.0;
    double scaled = 0.0;
    for (const float v : x) {
      sum += std::exp(static_cast<double>(v) - 300.0);
      scaled += std::exp((static_cast<double>(v) - 300.0) * 0.5);
    }
    ASSERT_NEAR(log_sum_exp(x.data(), n), 300.0 + std::log(sum), 5e-5) << n;
    ASSERT_NEAR(sum_exp(x.data(), n, 300.0f, 0.5f), scaled, scaled * 1e-5);
    std::vector<float> p(x.size());
    softmax(x.data(), n, 0.5f, p.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = std::exp((static_cast<double>(x[i]) - 300.0) * 0.5) / scaled;
      ASSERT_NEAR(p[i], expected, expected * 1e-5 + 1e-30);
    }
    expect_portable_bits([&] {
      std::vector<float> y(x.size());
      softmax(x.data(), n, 0.7f, y.data());
      y.push_back(log_sum_exp(x.data(), n));
      return y;
    });
  }
  const std::vector<float> none(5, -kInf);
  EXPECT_EQ(log_sum_exp(none.data(), 5), -kInf);
}

INSTANTIATE_TEST_SUITE_P(Variants, OpsTest, testing::ValuesIn(supported_isas()),
                         [](const testing::TestParamInfo<Isa>& param) {
                           return std::string(name(param.param));
                         });

}  // namespace
}  // namespace augur
