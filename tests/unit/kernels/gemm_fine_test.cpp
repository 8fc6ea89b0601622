// Products that take rows in 16 bits.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/gemm_dispatch.h"
#include "kernels/ops.h"
#include "quant_fixture.h"

namespace augur {
namespace {

/// Q8_0 weights and fine rows.
struct FineProblem {
  QuantProblem weights;
  std::int64_t stride;
  std::vector<float> values;  ///< [rows, k]
  Buffer<std::byte> x;

  FineProblem(std::int64_t n, std::int64_t k, int rows)
      : weights(DType::Q8_0, n, k, rows, 5), stride(activation_stride(k)), values(std::size_t(rows * k)) {
    weights.weight.take_fine_rows();
    std::mt19937 random(6);
    std::normal_distribution<float> normal;
    for (float& v : values) v = normal(random);
    x = Buffer<std::byte>(static_cast<std::size_t>(rows * row_size()));
    for (int r = 0; r < rows; ++r) set_row(r, r);
  }
  std::int64_t row_size() const { return row_bytes(InputForm::Blocks16, stride); }
  void set_row(int row, int from) {
    convert_row(values.data() + from * weights.k, weights.k, InputForm::Blocks16,
                x.data() + row * row_size());
  }
  GemmCall call(float* y, int rows) const {
    return {.weight = &weights.weight,
            .x = x.data(),
            .x_stride = stride,
            .rows = rows,
            .y = y,
            .y_stride = weights.y_stride};
  }
  Buffer<float> run(Isa isa, int parts = 1, bool extras = false) const {
    Buffer<float> y = weights.new_output(0.5f);
    GemmCall all = call(y.data(), weights.rows);
    if (extras) all.bias = weights.bias.data();
    all.accumulate = extras;
    for (int part = 0; part < parts; ++part)
      gemm_kernel(isa)(all, split_range(weights.weight.panels(), part, parts), {});
    return y;
  }
};

TEST(GemmFine, EveryVariantAndPartitionGivesThePortableBits) {
  for (const int rows : {1, 3, 64, 65}) {
    const FineProblem problem(16 * 37 - 5, 96, rows);
    for (const bool extras : {false, true}) {
      const Buffer<float> expected = problem.run(Isa::Portable, 1, extras);
      for (const Isa isa : supported_isas()) {
        for (const int parts : {1, 3, 37})
          ASSERT_TRUE(same_bits(problem.run(isa, parts, extras), expected)) << name(isa) << ", " << rows;
      }
    }
  }
}

TEST(GemmFine, RowBitsDependOnNothingButTheRow) {
  constexpr int kRows = 130;
  FineProblem problem(100, 576, kRows);
  const Isa isa = supported(Isa::Avx512) ? Isa::Avx512 : Isa::Portable;
  const Buffer<float> expected = problem.run(isa);
  Buffer<float> y = problem.weights.new_output();
  for (const int rows : {1, 2, 7, 63, 64, 65, 129}) {
    const auto source = [&](int i) { return (i * 37 + rows * 11) % kRows; };
    for (int i = 0; i < rows; ++i) problem.set_row(i, source(i));
    gemm_kernel(isa)(problem.call(y.data(), rows), {0, problem.weights.weight.panels()}, {});
    for (int i = 0; i < rows; ++i) {
      ASSERT_EQ(std::memcmp(y.data() + i * problem.weights.y_stride,
                            expected.data() + source(i) * problem.weights.y_stride, 400),
                0)
          << i << " of " << rows;
    }
  }
}

// What a row and its rest leave of a value is at most a 254th of what the row alone leaves, half a step of
// 1/127 of the block's largest: so is the error of a product, and float32's own (Higham, as in
// gemm_quant_test.cpp).
TEST(GemmFine, IsThatMuchNearerToTheProductOfTheValues) {
  const FineProblem problem(40, 2048, 3);
  const std::int64_t k = problem.weights.k;
  const Buffer<float> y = problem.run(Isa::Portable);
  const double gamma = (2.0 * static_cast<double>(k / 32) + 4) * 0x1p-24 * 1.01;
  std::vector<float> w(static_cast<std::size_t>(k));
  for (std::int64_t j = 0; j < problem.weights.n; ++j) {
    problem.weights.weight.get_row(j, w.data());
    for (int r = 0; r < problem.weights.rows; ++r) {
      const float* x = problem.values.data() + r * k;
      double exact = 0;
      double bound = 0;
      for (std::int64_t b = 0; b < k; b += 32) {
        double largest = 0;
        for (std::int64_t i = b; i < b + 32; ++i) largest = std::max(largest, std::fabs(double(x[i])));
        for (std::int64_t i = b; i < b + 32; ++i) {
          const double weight = w[static_cast<std::size_t>(i)];
          exact += x[i] * weight;
          bound += std::fabs(weight) * (largest / 254 / 254 * 1.01 + gamma * 1.02 * std::fabs(double(x[i])));
        }
      }
      ASSERT_NEAR(y[static_cast<std::size_t>(r * problem.weights.y_stride + j)], exact, bound);
    }
  }
}

}  // namespace
}  // namespace augur
