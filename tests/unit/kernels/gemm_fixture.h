#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "kernels/cpu/subnormals.h"
#include "kernels/gemm.h"

namespace augur {

/// A random product with everything a GemmCall points to. Columns n.. of y and k.. of x follow the contract.
struct GemmProblem {
  DType type;
  std::int64_t n, k;
  int rows;
  std::vector<float> w_values;  ///< [n][padded k], as stored (rounded)
  std::vector<float> x_values;  ///< [rows][padded k], as stored (rounded)
  std::vector<float> bias;      ///< [padded n]
  PackedMatrix weight;
  Buffer<std::byte> x;
  std::int64_t x_stride;
  std::int64_t y_stride;

  GemmProblem(DType dtype, std::int64_t columns, std::int64_t depth, int row_count, std::uint32_t seed = 1)
      : type(dtype), n(columns), k(depth), rows(row_count), weight(dtype, columns, depth) {
    const std::int64_t pk = weight.padded_k();
    x_stride = pk + 32;  // wider than needed, to catch confusion of the two
    y_stride = weight.panels() * 16 + 16;
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    w_values.assign(static_cast<std::size_t>(n * pk), 0.0f);
    x_values.assign(static_cast<std::size_t>(rows * pk), 0.0f);
    fill(w_values, n, pk, [&] { return normal(random); });
    fill(x_values, rows, pk, [&] { return normal(random); });
    bias.assign(static_cast<std::size_t>(weight.panels() * 16), 0.0f);
    for (std::int64_t j = 0; j < n; ++j) bias[static_cast<std::size_t>(j)] = normal(random);
    pack();
  }

  /// Sets the k real columns of each row.
  template <class Next>
  void fill(std::vector<float>& values, std::int64_t count, std::int64_t stride, Next next) {
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t i = 0; i < k; ++i) values[static_cast<std::size_t>(r * stride + i)] = rounded(next());
  }

  float rounded(float v) const { return type == DType::BF16 ? to_float(to_bf16(v)) : v; }

  /// Brings w_values and x_values into the forms that the kernels read.
  void pack() {
    const std::int64_t pk = weight.padded_k();
    for (std::int64_t j = 0; j < n; ++j)
      weight.set_rows(
          j, std::span(w_values).subspan(static_cast<std::size_t>(j * pk), static_cast<std::size_t>(k)));
    x = Buffer<std::byte>(static_cast<std::size_t>(rows * x_stride * block_shape(type).bytes));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < k; ++i) {
        const float v = x_values[static_cast<std::size_t>(r * pk + i)];
        const std::int64_t at = r * x_stride + i;
        if (type == DType::BF16) {
          reinterpret_cast<BF16*>(x.data())[at] = to_bf16(v);
        } else {
          reinterpret_cast<float*>(x.data())[at] = v;
        }
      }
    }
  }

  GemmCall call(float* y) const {
    return {
        .weight = &weight, .x = x.data(), .x_stride = x_stride, .rows = rows, .y = y, .y_stride = y_stride};
  }

  Buffer<float> new_output(float value = 0.0f) const {
    Buffer<float> y(static_cast<std::size_t>(rows * y_stride));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = value;
    return y;
  }

  /// One sum as gemm.h's law states it, before bias and accumulation.
  float law(std::int64_t row, std::int64_t column) const {
    const std::int64_t pk = weight.padded_k();
    const float* xs = &x_values[static_cast<std::size_t>(row * pk)];
    const float* ws = &w_values[static_cast<std::size_t>(column * pk)];
    const FlushSubnormals flush;
    float acc = 0.0f;
    if (type == DType::BF16) {
      for (std::int64_t i = 0; i < pk; i += 2) {
        acc = std::fma(xs[i + 1], ws[i + 1], acc);
        acc = std::fma(xs[i], ws[i], acc);
      }
    } else {
      for (std::int64_t i = 0; i < pk; ++i) acc = std::fma(xs[i], ws[i], acc);
    }
    return acc;
  }
};

inline std::uint32_t bits(float v) {
  return std::bit_cast<std::uint32_t>(v);
}

}  // namespace augur
