// What draft heads are made of below their layers: rows that are normed, paired and multiplied, whatever
// threads share the work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "base/error.h"
#include "kernels/ops.h"
#include "model/cpu_device.h"
#include "model/linear.h"
#include "model/paired_rows.h"
#include "model/row_ops.h"

namespace augur {
namespace {

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

TEST(ForEachRow, TakesEveryRowOnce) {
  Backend backend(2, false);
  for (const std::int64_t rows : {0, 1, 7, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(rows));
    for_each_row(backend, rows, 100, [&](std::int64_t r) { ++seen[static_cast<std::size_t>(r)]; });
    EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& count) { return count == 1; })) << rows;
  }
}

TEST(NormRows, AreThoseOfEachRow) {
  Backend backend(2, false);
  constexpr std::int64_t kWidth = 48, kStride = 50;
  const std::vector<float> weight = random_floats(kWidth, 1);
  for (const std::int64_t rows : {1, 400}) {  // by the caller, by the team
    const std::vector<float> in = random_floats(static_cast<std::size_t>(rows * kStride), 2);
    std::vector<float> out(static_cast<std::size_t>(rows * kWidth));
    norm_rows(backend, {in.data(), kStride}, rows, weight, 1e-5f, out.data(), kWidth);
    std::vector<float> expected(kWidth);
    for (std::int64_t r = 0; r < rows; ++r) {
      rms_norm(in.data() + r * kStride, weight.data(), 1e-5f, kWidth, InputForm::F32, expected.data());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin() + r * kWidth)) << r;
    }
  }
}

class PairedRowsTest : public testing::Test {
 protected:
  static constexpr std::int64_t kTokens = 20, kWidth = 32;
  PairedRowsTest() : embedding_(DType::F32, kTokens, kWidth), values_(random_floats(kTokens * kWidth, 3)) {
    embedding_.set_rows(0, values_);
  }
  std::span<const float> embedding(TokenId token) const {
    return std::span(values_).subspan(static_cast<std::size_t>(token * kWidth), kWidth);
  }

  Backend backend_{2, false};
  CpuDevice device_{backend_};
  PackedMatrix embedding_;
  std::vector<float> values_;
  std::vector<float> states_ = random_floats(3 * kWidth, 4);
  std::vector<TokenId> tokens_{7, 0, 19};
  PairedRows pairs_;
};

TEST_F(PairedRowsTest, EmbeddingAndStateAsTheyAre) {
  pairs_.fill(device_, {.embedding = &embedding_}, tokens_, states_.data());
  for (std::int64_t r = 0; r < 3; ++r) {
    const float* row = pairs_.row(r);
    EXPECT_TRUE(std::ranges::equal(std::span(row, kWidth), embedding(tokens_[static_cast<std::size_t>(r)])));
    EXPECT_TRUE(std::equal(row + kWidth, row + 2 * kWidth, states_.data() + r * kWidth));
    EXPECT_EQ(pairs_.state(r), row + kWidth);
  }
}

TEST_F(PairedRowsTest, NormedAndTheOtherWayRound) {
  const std::vector<float> a = random_floats(kWidth, 5), b = random_floats(kWidth, 6);
  pairs_.fill(
      device_,
      {.embedding = &embedding_, .embedding_norm = a, .state_norm = b, .eps = 1e-5f, .state_first = true},
      tokens_, states_.data());
  std::vector<float> expected(kWidth);
  for (std::int64_t r = 0; r < 3; ++r) {
    rms_norm(states_.data() + r * kWidth, b.data(), 1e-5f, kWidth, InputForm::F32, expected.data());
    EXPECT_TRUE(std::ranges::equal(std::span(pairs_.row(r), kWidth), expected));
    EXPECT_EQ(pairs_.state(r), pairs_.row(r));
    rms_norm(embedding(tokens_[static_cast<std::size_t>(r)]).data(), a.data(), 1e-5f, kWidth, InputForm::F32,
             expected.data());
    EXPECT_TRUE(std::ranges::equal(std::span(pairs_.row(r) + kWidth, kWidth), expected));
  }
}

TEST_F(PairedRowsTest, RefusesTokensThatAreNone) {
  for (const TokenId token : {-1, 20}) {
    tokens_[1] = token;
    EXPECT_THROW(pairs_.fill(device_, {.embedding = &embedding_}, tokens_, states_.data()), Error);
  }
}

/// A source with one matrix and one bias.
class TwoTensors final : public WeightSource {
 public:
  static constexpr std::int64_t kOut = 20, kIn = 32;
  RowReader open(const std::string& name, const Shape& shape) override {
    EXPECT_TRUE(name == "fc.weight" ? shape == (Shape{kOut, kIn}) : shape == (Shape{kOut})) << name;
    const std::vector<float>& values = name == "fc.weight" ? weight : bias;
    const std::int64_t width = name == "fc.weight" ? kIn : kOut;
    return [&values, width](std::int64_t first, std::int64_t count, float* out) {
      std::copy_n(values.data() + first * width, count * width, out);
    };
  }

  std::vector<float> weight = random_floats(kOut * kIn, 8);
  std::vector<float> bias = random_floats(kOut, 9);
};

TEST(Linear, MultipliesRowsWhereverTheyLie) {
  Backend backend(2, false);
  TwoTensors source;
  WeightPacker packer({.floats = DType::F32, .native = false}, source);
  Linear linear;
  linear.open(packer, "fc", TwoTensors::kOut, TwoTensors::kIn, true);
  packer.run(backend, {});
  EXPECT_EQ(linear.outputs(), TwoTensors::kOut);
  for (const int rows : {1, 3, 40}) {
    std::vector<std::vector<float>> x;
    for (int r = 0; r < rows; ++r) x.push_back(random_floats(TwoTensors::kIn, 20 + static_cast<unsigned>(r)));
    linear.run(backend, rows, [&](std::int64_t r) { return x[static_cast<std::size_t>(r)].data(); });
    for (int r = 0; r < rows; ++r) {
      EXPECT_EQ(linear.out(r), linear.out(0) + r * linear.out_stride());
      for (std::size_t n = 0; n < TwoTensors::kOut; ++n) {
        double expected = double{source.bias[n]};
        for (std::size_t k = 0; k < TwoTensors::kIn; ++k) {
          expected +=
              double{source.weight[n * TwoTensors::kIn + k]} * double{x[static_cast<std::size_t>(r)][k]};
        }
        ASSERT_NEAR(linear.out(r)[n], expected, 1e-5) << "row " << r << ", output " << n;
      }
    }
  }
}

}  // namespace
}  // namespace augur
