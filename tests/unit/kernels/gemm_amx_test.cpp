// The blocking of the AMX variant on an emulated tile unit: runs on every machine.
#include "kernels/cpu/gemm_amx.h"

#include <gtest/gtest.h>

#include "emulated_tiles.h"
#include "gemm_fixture.h"

namespace augur {
namespace {

/// The order of TDPBF16PS for one output.
float amx_order(const GemmProblem& problem, std::int64_t row, std::int64_t column) {
  const std::int64_t pk = problem.weight.padded_k();
  const float* x = &problem.x_values[static_cast<std::size_t>(row * pk)];
  const float* w = &problem.w_values[static_cast<std::size_t>(column * pk)];
  float acc = 0;
  for (std::int64_t block = 0; block < pk; block += 32) {
    float even = 0;
    float odd = 0;
    for (std::int64_t i = block; i < block + 32; i += 2) {
      even = std::fma(x[i], w[i], even);
      odd = std::fma(x[i + 1], w[i + 1], odd);
    }
    acc += even + odd;
  }
  return acc;
}

TEST(GemmAmxBlocking, EveryRowCountGivesTheSameChain) {
  // Nine panels leave groups of unequal width, 2100 columns several blocks of k.
  const GemmProblem problem(DType::BF16, 16 * 9 - 3, 2100, 70);
  std::vector<float> expected;
  for (std::int64_t r = 0; r < problem.rows; ++r)
    for (std::int64_t j = 0; j < problem.n; ++j) expected.push_back(amx_order(problem, r, j));

  for (const int rows : {1, 2, 15, 16, 17, 31, 32, 33, 48, 70}) {
    for (const bool accumulate : {false, true}) {
      Buffer<float> y = problem.new_output(0.5f);
      const GemmTask task{.w = reinterpret_cast<const char*>(problem.weight.panel(0)),
                          .panels = problem.weight.panels(),
                          .steps = problem.weight.steps(),
                          .x = reinterpret_cast<const char*>(problem.x.data()),
                          .x_stride = problem.x_stride * 2,
                          .rows = rows,
                          .y = y.data(),
                          .y_stride = problem.y_stride,
                          .bias = problem.bias.data(),
                          .accumulate = accumulate};
      run_blocked<AmxTiles<EmulatedTiles>>(task);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t j = 0; j < problem.n; ++j) {
          const float sum = expected[static_cast<std::size_t>(r * problem.n + j)] +
                            problem.bias[static_cast<std::size_t>(j)];
          ASSERT_EQ(bits(y[static_cast<std::size_t>(r * problem.y_stride + j)]),
                    bits(accumulate ? 0.5f + sum : sum))
              << "row " << r << " of " << rows << ", column " << j;
        }
      }
      for (std::int64_t r = rows; r < problem.rows; ++r)
        ASSERT_EQ(y[static_cast<std::size_t>(r * problem.y_stride)], 0.5f) << "wrote past the last row";
    }
  }
}

}  // namespace
}  // namespace augur
