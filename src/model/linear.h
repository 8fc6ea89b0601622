#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/gemm.h"
#include "kernels/ops.h"
#include "model/weight_packer.h"
#include "model/workspace.h"

namespace augur {

/// y = x W^T + b, a linear layer of a draft head, with the buffer for its input. One thread team at a time.
class Linear {
 public:
  Linear() = default;
  /// Asks for `name`.weight [n, k] and, with `has_bias`, `name`.bias [n]. Stays where it is until run().
  void open(WeightPacker& packer, const std::string& name, std::int64_t n, std::int64_t k, bool has_bias) {
    packer.matrix(weight_, name + ".weight", n, k);
    if (has_bias) {
      bias_.assign(static_cast<std::size_t>((n + 15) / 16 * 16), 0.0f);
      packer.bias(bias_, name + ".bias", n);
    }
    packer.reserve(weight_, n, k);
    input_ = RowBuffer(weight_.input_type(), activation_stride(k), 1);
  }

  std::int64_t outputs() const { return weight_.n(); }
  std::int64_t inputs() const { return weight_.k(); }
  std::int64_t bytes() const { return weight_.bytes(); }
  const PackedMatrix& weight() const { return weight_; }
  std::span<const float> bias() const { return bias_; }  ///< padded to 16; empty: none

  /// Before apply(), outside the region.
  void ensure(std::int64_t rows) { input_.ensure(rows); }
  /// On every thread of a region: y[r, 0..n) from the float32 rows row(r), 0 <= r < rows; y is 64-byte
  /// aligned, y_stride a multiple of 16. Other threads' columns are there after the next barrier.
  template <class RowOf>
  void apply(Team& team, const KernelSet& kernels, int rows, const RowOf& row, float* y,
             std::int64_t y_stride) const {
    const Range mine = team.split(rows);
    for (std::int64_t r = mine.begin; r < mine.end; ++r) {
      convert_row(row(r), weight_.k(), weight_.input_type(), input_.row(r));
    }
    team.barrier();
    kernels.gemm({.weight = &weight_,
                  .x = input_.row(0),
                  .x_stride = input_.stride(),
                  .rows = rows,
                  .y = y,
                  .y_stride = y_stride,
                  .bias = bias_.empty() ? nullptr : bias_.data()},
                 team.split(weight_.panels()));
  }

 private:
  PackedMatrix weight_;
  std::vector<float> bias_;  ///< padded to 16; empty: none
  RowBuffer input_;          ///< [rows, k]
};

}  // namespace augur
