#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cfloat>

#include "gemm_fixture.h"
#include "gemm_traversals.h"
#include "kernels/gemm_dispatch.h"

namespace augur {
namespace {

/// Every test runs for every variant; those that this machine cannot run are reported as skipped.
class Gemm : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { gemm_ = gemm_kernel(GetParam()); }

  Buffer<float> run(const GemmProblem& problem, const GemmTraversal& traversal = {}) const {
    Buffer<float> y = problem.new_output();
    gemm_(problem.call(y.data()), {0, problem.weight.panels()}, traversal);
    return y;
  }

  /// AMX has its own order within each block of 32; its law is tested with the emulated tile unit.
  bool own_order(DType type) const { return GetParam() == Isa::Amx && type == DType::BF16; }

  GemmFn gemm_ = nullptr;
};

std::string variant_name(const ::testing::TestParamInfo<Isa>& info) {
  return std::string(name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Isa, Gemm, ::testing::ValuesIn(supported_isas()), variant_name);

struct Shape {
  std::int64_t n, k;
  int rows;
};

// Below one panel, between panels, several groups of panels; one block of k, several, remainders of k.
const Shape kShapes[] = {{1, 1, 1},    {16, 32, 2},   {17, 33, 3},   {40, 250, 5},  {150, 31, 7},
                         {300, 64, 8}, {64, 1100, 9}, {33, 900, 23}, {70, 515, 64}, {48, 160, 131}};

TEST_P(Gemm, GivesTheBitsOfTheLaw) {
  for (const DType type : {DType::F32, DType::BF16}) {
    if (own_order(type)) continue;
    for (const Shape& shape : kShapes) {
      const GemmProblem problem(type, shape.n, shape.k, shape.rows);
      const Buffer<float> plain = run(problem);
      Buffer<float> biased = problem.new_output();
      GemmCall call = problem.call(biased.data());
      call.bias = problem.bias.data();
      gemm_(call, {0, problem.weight.panels()}, {});
      Buffer<float> accumulated = problem.new_output(0.75f);
      call.y = accumulated.data();
      call.accumulate = true;
      gemm_(call, {0, problem.weight.panels()}, {});
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        for (std::int64_t j = 0; j < shape.n; ++j) {
          const float sum = problem.law(r, j);
          const float with_bias = sum + problem.bias[static_cast<std::size_t>(j)];
          const auto at = static_cast<std::size_t>(r * problem.y_stride + j);
          ASSERT_EQ(bits(plain[at]), bits(sum))
              << name(type) << " n " << shape.n << " k " << shape.k << " at " << r << "," << j;
          ASSERT_EQ(bits(biased[at]), bits(with_bias));
          ASSERT_EQ(bits(accumulated[at]), bits(0.75f + with_bias));
        }
        for (std::int64_t j = shape.n; j < problem.y_stride; ++j) {
          ASSERT_EQ(plain[static_cast<std::size_t>(r * problem.y_stride + j)], 0.0f) << "padding of y";
        }
      }
    }
  }
}

TEST_P(Gemm, RowBitsDependOnNothingButTheRow) {
  constexpr int kRows = 128;
  // The portable variant has no blocking that could break this: a few counts are enough for it.
  const int step = GetParam() == Isa::Portable ? 29 : 1;
  for (const DType type : {DType::F32, DType::BF16}) {
    const GemmProblem all(type, 170, 700, kRows);
    const Buffer<float> expected = run(all);
    GemmProblem some = GemmProblem(type, 170, 700, kRows);
    Buffer<float> y = all.new_output();
    const std::int64_t row_bytes = all.x_stride * block_shape(type).bytes;
    for (int rows = 1; rows <= kRows; rows += step) {
      // Row i of the smaller call is row source(i) of the whole, so neighbours differ from call to call.
      const auto source = [&](int i) { return (i * 37 + rows * 11) % kRows; };
      for (int i = 0; i < rows; ++i)
        std::memcpy(some.x.data() + i * row_bytes, all.x.data() + source(i) * row_bytes,
                    static_cast<std::size_t>(row_bytes));
      GemmCall call = some.call(y.data());
      call.rows = rows;
      gemm_(call, {0, all.weight.panels()}, {});
      for (int i = 0; i < rows; ++i) {
        ASSERT_EQ(
            std::memcmp(y.data() + i * all.y_stride, expected.data() + source(i) * all.y_stride, 170 * 4), 0)
            << name(type) << ": row " << i << " of " << rows;
      }
    }
  }
}

TEST_P(Gemm, AnyPartitionOfPanelsGivesTheSameBits) {
  for (const DType type : {DType::F32, DType::BF16}) {
    for (const int rows : {1, 6, 40}) {
      const GemmProblem problem(type, 16 * 23, 416, rows);
      const Buffer<float> expected = run(problem);
      for (const int parts : {2, 3, 5, 23}) {
        Buffer<float> y = problem.new_output();
        for (int part = 0; part < parts; ++part)
          gemm_(problem.call(y.data()), split_range(problem.weight.panels(), part, parts), {});
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
            << name(type) << " " << rows << " rows, " << parts << " parts";
      }
    }
  }
}

TEST_P(Gemm, NoTraversalChangesABit) {
  for (const DType type : {DType::F32, DType::BF16}) {
    for (const int rows : {1, 3, 7, 40}) {
      const GemmProblem problem(type, 16 * 9 + 5, 1100, rows);
      const Buffer<float> expected = run(problem);
      for (const GemmTraversal& traversal : kTraversals) {
        const Buffer<float> y = run(problem, traversal);
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
            << name(type) << " " << rows << " rows, traversal " << &traversal - kTraversals;
      }
    }
  }
}

TEST_P(Gemm, WritesOnlyItsOwnColumns) {
  const GemmProblem problem(DType::BF16, 16 * 9, 64, 3);
  Buffer<float> y = problem.new_output(7.0f);
  gemm_(problem.call(y.data()), {2, 5}, {});
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t j = 0; j < problem.y_stride; ++j) {
      if (j >= 2 * 16 && j < 5 * 16) continue;
      ASSERT_EQ(y[static_cast<std::size_t>(r * problem.y_stride + j)], 7.0f);
    }
  }
}

// Operands and sums around the smallest normal number: products and sums that are subnormal, or would be
// exactly normal only after rounding, must be flushed alike by every variant.
TEST_P(Gemm, SubnormalsCountAsZeroInEveryVariant) {
  for (const DType type : {DType::F32, DType::BF16}) {
    if (own_order(type)) continue;
    GemmProblem problem(type, 64, 128, 24, 5);
    std::mt19937 random(9);
    const auto tiny = [&](int low, int high) {
      return [&random, low, high] {
        const int exponent = low + static_cast<int>(random() % static_cast<unsigned>(high - low));
        const float mantissa = 1.0f + static_cast<float>(random() % 256) / 128.0f;
        return std::ldexp(random() % 2 == 0 ? mantissa : -mantissa, exponent);
      };
    };
    problem.fill(problem.w_values, problem.n, 128, tiny(-135, -58));
    problem.fill(problem.x_values, problem.rows, 128, tiny(-70, -58));
    problem.pack();
    const Buffer<float> y = run(problem);
    int zeros = 0;
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        const float value = y[static_cast<std::size_t>(r * problem.y_stride + j)];
        ASSERT_EQ(bits(value), bits(problem.law(r, j))) << name(type) << " at " << r << "," << j;
        ASSERT_TRUE(value == 0.0f || std::fabs(value) >= FLT_MIN);
        zeros += value == 0.0f;
      }
    }
    EXPECT_GT(zeros, 0) << "the case does not reach the subnormals";
  }
}

// |computed - exact| <= gamma * sum |x_i w_i|, gamma = m u / (1 - m u): Higham, Accuracy and Stability, 3.1;
// m = number of roundings a product can pass, u = 2^-24. Holds for any order of summation, so for AMX too.
TEST_P(Gemm, StaysWithinTheRoundingErrorBound) {
  for (const DType type : {DType::F32, DType::BF16}) {
    const GemmProblem problem(type, 40, 2000, 5);
    const Buffer<float> y = run(problem);
    const double m = static_cast<double>(problem.weight.padded_k()) + 1;
    const double gamma = m * 0x1p-24 / (1 - m * 0x1p-24);
    const std::int64_t pk = problem.weight.padded_k();
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        double exact = 0;
        double magnitude = 0;
        for (std::int64_t i = 0; i < problem.k; ++i) {
          const double product = static_cast<double>(problem.x_values[static_cast<std::size_t>(r * pk + i)]) *
                                 static_cast<double>(problem.w_values[static_cast<std::size_t>(j * pk + i)]);
          exact += product;
          magnitude += std::fabs(product);
        }
        ASSERT_NEAR(y[static_cast<std::size_t>(r * problem.y_stride + j)], exact, gamma * magnitude);
      }
    }
  }
}

}  // namespace
}  // namespace augur
