// Quantised products: every variant against the portable one bit for bit, that one against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gemm_traversals.h"
#include "kernels/cpu/subnormals.h"
#include "kernels/gemm_dispatch.h"
#include "kernels/quant_variants.h"
#include "quant_fixture.h"

namespace augur {
namespace {

struct Shape {
  std::int64_t n, k;  ///< k in units of a type's block
  int rows;
};

// One step of k and several, odd ones (half a step of padding), groups of panels that do not divide, rows
// that fit a tile and that do not.
const Shape kShapes[] = {{1, 1, 1},   {16, 2, 2},   {17, 3, 3},  {40, 7, 5},  {150, 1, 6}, {90, 5, 7},
                         {33, 9, 13}, {70, 12, 17}, {40, 3, 16}, {50, 4, 33}, {48, 3, 131}};

Buffer<float> run(GemmQuantFn gemm, const QuantProblem& problem, float before = 0.0f, bool bias = false,
                  bool accumulate = false) {
  Buffer<float> y = problem.new_output(before);
  GemmTask task = problem.task(y.data());
  if (bias) task.bias = problem.bias.data();
  task.accumulate = accumulate;
  const FlushSubnormals flush;
  gemm(*quant_kind(problem.weight.type()), task);
  return y;
}

TEST(GemmQuant, EveryVariantGivesThePortableBits) {
  for (const DType type : kQuantTypes) {
    std::uint32_t seed = 3;
    for (const Shape& shape : kShapes) {
      const QuantProblem problem(type, shape.n, shape.k * block_shape(type).elements, shape.rows, seed++);
      for (const bool extras : {false, true}) {
        const Buffer<float> expected = run(gemm_quant_portable, problem, 0.75f, extras, extras);
        for (const QuantVariant& variant : quant_variants()) {
          ASSERT_TRUE(same_bits(run(variant.gemm, problem, 0.75f, extras, extras), expected))
              << variant.name << ", " << name(type) << ", n " << shape.n << " k " << problem.k << " rows "
              << shape.rows;
        }
      }
    }
  }
}

// Nearly all weights are the largest that their bits hold, all of x is 127 or -127: sums in 16 bits are full.
TEST(GemmQuant, NothingSaturates) {
  for (const DType type : kQuantTypes) {
    QuantProblem problem(type, 32, 512, 5);
    std::vector<float> values(static_cast<std::size_t>(problem.n * problem.k), 31.0f / 32);
    for (std::size_t i = 0; i < values.size(); i += 16) values[i] = -1;  // what the others are measured by
    quantize_blocks(type, values.data(), std::ssize(values), problem.stored.data());
    if (type == DType::MXFP4) {  // 31 / 32 is not its largest: that is 6 times a power of two
      for (std::size_t i = 0; i < problem.stored.size(); ++i) {
        problem.stored[i] = std::byte{static_cast<unsigned char>(i % 17 == 0 ? 125 : 0x77)};
      }
    }
    PackedMatrix weight(type, problem.n, problem.k);
    problem.weight = std::move(weight);
    problem.weight.set_stored_rows(0, problem.stored);
    for (int r = 0; r < problem.rows; ++r) {
      std::vector<float> row(static_cast<std::size_t>(problem.k), r == 1 ? -3.0f : 3.0f);
      for (std::size_t i = 0; i < row.size(); i += static_cast<std::size_t>(r) + 1) row[i] = 3;
      quantize_row_reference(row.data(), problem.k, problem.block(r, 0));
    }
    const Buffer<float> expected = run(gemm_quant_portable, problem);
    EXPECT_GT(std::fabs(expected[0]), 512) << name(type);
    for (const QuantVariant& variant : quant_variants())
      EXPECT_TRUE(same_bits(run(variant.gemm, problem), expected)) << variant.name << ", " << name(type);
  }
}

// Long enough for several blocks of k per group, whose sums rest between them.
TEST(GemmQuant, CutsOfLongRowsDoNotShow) {
  for (const DType type : {DType::Q8_0, DType::Q4_1, DType::Q6_K, DType::Q2_K, DType::MXFP4}) {
    const QuantProblem problem(type, 70, 16384, 29);
    const Buffer<float> expected = run(gemm_quant_portable, problem);
    for (const QuantVariant& variant : quant_variants())
      ASSERT_TRUE(same_bits(run(variant.gemm, problem), expected)) << variant.name << ", " << name(type);
  }
}

TEST(GemmQuant, NoTraversalChangesABit) {
  for (const DType type : kQuantTypes) {
    for (const int rows : {1, 3, 7, 29}) {
      const QuantProblem problem(type, 150, 4096, rows);
      const Buffer<float> expected = run(gemm_quant_portable, problem);
      for (const QuantVariant& variant : quant_variants()) {
        for (const GemmTraversal& traversal : kTraversals) {
          Buffer<float> y = problem.new_output();
          GemmTask task = problem.task(y.data());
          task.traversal = traversal;
          const FlushSubnormals flush;
          variant.gemm(*quant_kind(type), task);
          ASSERT_TRUE(same_bits(y, expected)) << variant.name << ", " << name(type) << ", rows " << rows;
        }
      }
    }
  }
}

TEST(GemmQuant, RowBitsDependOnNothingButTheRow) {
  constexpr int kRows = 128;
  for (const DType type : kQuantTypes) {
    const QuantProblem all(type, 100, 512, kRows);
    QuantProblem some(type, 100, 512, kRows);
    const Buffer<float> expected = run(gemm_quant_portable, all);
    Buffer<float> y = all.new_output();
    for (const QuantVariant& variant : quant_variants()) {
      // The portable variant has no blocking that could break this: a few counts are enough for it.
      const int step = variant.gemm == gemm_quant_portable ? 41 : 1;
      for (int rows = 1; rows <= kRows; rows += step) {
        // Row i of the smaller call is row source(i) of the whole, so neighbours differ from call to call.
        const auto source = [&](int i) { return (i * 37 + rows * 11) % kRows; };
        for (int i = 0; i < rows; ++i)
          std::memcpy(some.block(i, 0), all.block(source(i), 0), static_cast<std::size_t>(all.row_size()));
        const FlushSubnormals flush;
        variant.gemm(*quant_kind(type), some.task(y.data(), rows));
        for (int i = 0; i < rows; ++i) {
          ASSERT_EQ(std::memcmp(y.data() + i * all.y_stride, expected.data() + source(i) * all.y_stride, 400),
                    0)
              << variant.name << ", " << name(type) << ": row " << i << " of " << rows;
        }
      }
    }
  }
}

TEST(GemmQuant, DispatchAndPartitionsOfPanelsKeepTheBits) {
  for (const DType type : kQuantTypes) {
    const QuantProblem problem(type, 16 * 11, 512, 9);
    const Buffer<float> expected = run(gemm_quant_portable, problem);
    for (const Isa isa : supported_isas()) {
      for (const int parts : {1, 3, 11}) {
        Buffer<float> y = problem.new_output();
        const GemmCall call{.weight = &problem.weight,
                            .x = problem.x.data(),
                            .x_stride = problem.x_stride,
                            .rows = problem.rows,
                            .y = y.data(),
                            .y_stride = problem.y_stride};
        for (int part = 0; part < parts; ++part)
          gemm_kernel(isa)(call, split_range(problem.weight.panels(), part, parts), {});
        ASSERT_TRUE(same_bits(y, expected)) << name(isa) << ", " << name(type) << ", " << parts << " parts";
      }
    }
  }
}

// |computed - exact| <= gamma * sum of magnitudes, gamma = m u / (1 - m u), u = 2^-24 (Higham, Accuracy and
// Stability, 3.1). A block adds at most two terms (four with halves and minima); each passes as many
// roundings as there are terms, and two more for the factors it is made of. The integers, and their
// conversion to float32, are exact.
TEST(GemmQuant, StaysWithinTheRoundingErrorBound) {
  for (const DType type : kQuantTypes) {
    const QuantProblem problem(type, 40, 2048, 5);
    const QuantKind kind = *quant_kind(type);
    const Buffer<float> y = run(gemm_quant_portable, problem);
    const std::int64_t blocks = problem.k / 32;
    const bool four = quant_layout(kind).halves && quant_layout(kind).minimum;
    const double m = (four ? 4.0 : 2.0) * static_cast<double>(blocks) + 2;
    const double gamma = m * 0x1p-24 / (1 - m * 0x1p-24);
    for (std::int64_t j = 0; j < problem.n; ++j) {
      for (std::int64_t r = 0; r < problem.rows; ++r) {
        double exact = 0;
        double magnitude = 0;
        for (std::int64_t b = 0; b < blocks; ++b) {
          const QuantValues w = unpack_quantized_block(kind, problem.weight.panel(j / 16), b, j % 16);
          const QuantBlock& x = *problem.block(r, b);
          for (int i = 0; i < 32; ++i) {
            const double value = static_cast<double>(x.scale) * x.q[i];
            const double scaled = static_cast<double>(w.scales[i / 16]) * w.values[i];
            const auto minimum = static_cast<double>(w.minimums[i / 16]);
            exact += value * (scaled + minimum);
            magnitude += std::fabs(value) * (std::fabs(scaled) + std::fabs(minimum));
          }
        }
        ASSERT_NEAR(y[static_cast<std::size_t>(r * problem.y_stride + j)], exact, gamma * magnitude)
            << name(type) << " at " << r << "," << j;
      }
    }
  }
}

// A row with a NaN must not look like a result, in its own row only.
TEST(GemmQuant, BrokenRowsStayBrokenAndAlone) {
  QuantProblem problem(DType::Q4_0, 40, 256, 8);
  const Buffer<float> before = run(gemm_quant_portable, problem);
  float row[32] = {1.0f, std::numeric_limits<float>::infinity()};
  quantize_row_reference(row, 32, problem.block(3, 2));
  for (const QuantVariant& variant : quant_variants()) {
    const Buffer<float> y = run(variant.gemm, problem);
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        const auto at = static_cast<std::size_t>(r * problem.y_stride + j);
        if (r == 3) {
          ASSERT_TRUE(std::isnan(y[at])) << variant.name;
        } else {
          ASSERT_EQ(y[at], before[at]) << variant.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace augur
