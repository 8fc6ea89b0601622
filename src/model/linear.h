#pragma once
#include <algorithm>
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

/// y = x W^T + b, a linear layer of a draft head, with the buffers for its rows. One thread at a time.
class Linear {
 public:
  Linear() = default;
  /// Asks for `name`.weight [n, k] and, with `has_bias`, `name`.bias [n]. Stays where it is until the packer
  /// has run.
  void open(WeightPacker& packer, const std::string& name, std::int64_t n, std::int64_t k, bool has_bias) {
    packer.matrix(weight_, name + ".weight", n, k);
    if (has_bias) {
      bias_.assign(static_cast<std::size_t>((n + 15) / 16 * 16), 0.0f);
      packer.bias(bias_, name + ".bias", n);
    }
    packer.reserve(weight_, n, k);
    input_ = RowBuffer(weight_.input_form(), activation_stride(k), 1);
    output_ = RowBuffer(InputForm::F32, n, PackedMatrix::kPanel);
  }

  std::int64_t outputs() const { return weight_.n(); }
  const PackedMatrix& weight() const { return weight_; }
  std::span<const float> bias() const { return bias_; }  ///< padded to 16; empty: none

  /// Computes out(0) ... out(rows - 1) from the float32 rows row(0) ... row(rows - 1), each [k].
  template <class RowOf>
  void run(Backend& backend, int rows, const RowOf& row) {
    if (rows == 0) return;
    ensure(rows);
    output_.ensure(rows);
    backend.pool.run(
        [&](Team& team) { apply(team, backend.kernels, rows, row, output_.floats(0), output_.stride()); });
  }
  /// Of the last run(): [rows, out_stride()], 64-byte aligned.
  float* out(std::int64_t row) const { return output_.floats(row); }
  std::int64_t out_stride() const { return output_.stride(); }  ///< outputs(), rounded up to 16
  /// The same, moved together: [rows, outputs()]. out() has no meaning until the next run().
  float* joined_out(int rows) const {
    for (std::int64_t r = 1; r < rows && out_stride() != outputs(); ++r) {
      std::copy_n(output_.floats(r), outputs(), output_.floats(0) + r * outputs());
    }
    return output_.floats(0);
  }

  // The same as a step of a larger region, for layers that are made of several products.

  /// Before apply(), outside the region.
  void ensure(std::int64_t rows) { input_.ensure(rows); }
  /// On every thread of a region: y[r, 0..n) from the float32 rows row(r), 0 <= r < rows; y is 64-byte
  /// aligned, y_stride a multiple of 16. Other threads' columns are there after the next barrier.
  template <class RowOf>
  void apply(Team& team, const KernelSet& kernels, int rows, const RowOf& row, float* y,
             std::int64_t y_stride) const {
    const Range mine = team.split(rows);
    for (std::int64_t r = mine.begin; r < mine.end; ++r) {
      convert_row(row(r), weight_.k(), weight_.input_form(), input_.row(r));
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
  RowBuffer input_;          ///< [rows, k] as the product reads them
  RowBuffer output_;         ///< [rows, n] of run()
};

}  // namespace augur
