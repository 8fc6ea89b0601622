#include "model/product_time.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "kernels/ops.h"
#include "model/weights.h"

namespace augur {
namespace {

/// A level of a draft has few rows.
constexpr std::array<int, 2> kRows = {1, 4};
constexpr int kRepetitions = 3;

}  // namespace

double product_ms(Backend& backend, DType type, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kDistinct = 16;  // rows over and over: what they are does not change the time
  std::vector<float> values(static_cast<std::size_t>(kDistinct * k));
  RandomWeights(1).open("probe", {kDistinct, k})(0, kDistinct, values.data());
  PackedMatrix few(type, kDistinct, k);
  few.set_rows(0, values);
  PackedMatrix weight(type, n, k);
  for (std::int64_t row = 0; row < n; ++row) weight.copy_row(row, few, row % kDistinct);

  const std::int64_t stride = activation_stride(k);
  const std::int64_t row_size = row_bytes(weight.input_type(), stride);
  Buffer<std::byte> x(static_cast<std::size_t>(kRows.back() * row_size));
  Buffer<float> y(static_cast<std::size_t>(kRows.back() * weight.panels() * PackedMatrix::kPanel));
  for (std::int64_t row = 0; row < kRows.back(); ++row)
    convert_row(values.data() + row * k, k, weight.input_type(), x.data() + row * row_size);
  double total = 0;
  for (const int rows : kRows) {
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i <= kRepetitions; ++i) {  // the first one warms up
      const Stopwatch watch;
      backend.pool.run([&](Team& team) {
        backend.kernels.gemm({.weight = &weight,
                              .x = x.data(),
                              .x_stride = stride,
                              .rows = rows,
                              .y = y.data(),
                              .y_stride = weight.panels() * PackedMatrix::kPanel},
                             team.split(weight.panels()));
      });
      if (i > 0) best = std::min(best, watch.ms());
    }
    total += best;
  }
  return total;
}

}  // namespace augur
