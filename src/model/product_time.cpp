#include "model/product_time.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "kernels/ops.h"
#include "model/weights.h"

namespace augur {
namespace {

/// A level of a draft has few rows.
constexpr std::array<int, 2> kRows = {1, 4};
/// Enough for the least of them to lie outside of another program's time slices.
constexpr int kRepetitions = 10;

/// A matrix of one type, and rows to multiply with it.
class Probe {
 public:
  Probe(DType type, std::int64_t n, std::int64_t k)
      : weight_(type, n, k),
        stride_(activation_stride(k)),
        x_(static_cast<std::size_t>(kRows.back() * row_bytes(weight_.input_form(), stride_))),
        y_(static_cast<std::size_t>(kRows.back() * weight_.panels() * PackedMatrix::kPanel)) {
    constexpr std::int64_t kDistinct = 16;  // rows over and over: what they are does not change the time
    std::vector<float> values(static_cast<std::size_t>(kDistinct * k));
    RandomWeights(1).open("probe", {kDistinct, k})(0, kDistinct, values.data());
    PackedMatrix few(type, kDistinct, k);
    few.set_rows(0, values);
    for (std::int64_t row = 0; row < n; ++row) weight_.copy_row(row, few, row % kDistinct);
    for (std::int64_t row = 0; row < kRows.back(); ++row)
      convert_row(values.data() + row * k, k, weight_.input_form(),
                  x_.data() + row * row_bytes(weight_.input_form(), stride_));
  }

  /// Multiplies, and keeps the least time of every number of rows.
  void run(Backend& backend) {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      const Stopwatch watch;
      backend.pool.run([&](Team& team) {
        backend.kernels.gemm({.weight = &weight_,
                              .x = x_.data(),
                              .x_stride = stride_,
                              .rows = kRows[i],
                              .y = y_.data(),
                              .y_stride = weight_.panels() * PackedMatrix::kPanel},
                             team.split(weight_.panels()));
      });
      least_[i] = std::min(least_[i], watch.ms());
    }
  }

  double ms() const { return std::accumulate(least_.begin(), least_.end(), 0.0); }

 private:
  PackedMatrix weight_;
  std::int64_t stride_;
  Buffer<std::byte> x_;
  Buffer<float> y_;
  std::array<double, kRows.size()> least_ = {std::numeric_limits<double>::max(),
                                             std::numeric_limits<double>::max()};
};

}  // namespace

std::vector<double> product_ms(Backend& backend, std::span<const DType> types, std::int64_t n,
                               std::int64_t k) {
  std::vector<Probe> probes;
  probes.reserve(types.size());
  for (const DType type : types) probes.emplace_back(type, n, k);
  for (int i = 0; i < kRepetitions; ++i) {
    for (Probe& probe : probes) probe.run(backend);
  }
  std::vector<double> ms;
  for (const Probe& probe : probes) ms.push_back(probe.ms());
  return ms;
}

}  // namespace augur
