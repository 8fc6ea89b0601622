#pragma once
#include <cstring>
#include <random>
#include <vector>

#include "base/buffer.h"
#include "kernels/cpu/gemm_task.h"
#include "kernels/gemm.h"
#include "kernels/quant_panel.h"
#include "kernels/quant_rows.h"
#include "kernels/quantize.h"

namespace augur {

constexpr DType kQuantTypes[] = {DType::Q8_0,   DType::Q4_0,   DType::Q4_1, DType::Q5_0, DType::Q5_1,
                                 DType::Q4_K,   DType::Q5_K,   DType::Q6_K, DType::Q2_K, DType::Q3_K,
                                 DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4};

/// Where the halves of a stored block are.
inline std::vector<std::size_t> halves_of(DType type) {
  switch (type) {
    case DType::Q4_1:
    case DType::Q5_1:
    case DType::Q4_K:
    case DType::Q5_K:
      return {0, 2};
    case DType::Q2_K:
      return {80, 82};
    case DType::Q3_K:
      return {108};
    case DType::Q6_K:
      return {208};
    case DType::MXFP4:
      return {};
    default:
      return {0};
  }
}

/// The same as GemmProblem for quantised weights.
struct QuantProblem {
  std::int64_t n, k;
  int rows;
  PackedMatrix weight;
  std::vector<std::byte> stored;  ///< weights in GGUF's blocks, row by row
  std::vector<float> bias;
  std::int64_t x_stride;  ///< elements
  Buffer<std::byte> x;    ///< QuantBlocks
  std::int64_t y_stride;

  QuantProblem(DType type, std::int64_t columns, std::int64_t depth, int row_count, std::uint32_t seed = 1)
      : n(columns), k(depth), rows(row_count), weight(type, columns, depth) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const BlockShape shape = block_shape(type);
    stored.resize(static_cast<std::size_t>(n * k / shape.elements * shape.bytes));
    std::vector<float> values(static_cast<std::size_t>(n * k));
    for (float& v : values) v = normal(random);
    quantize_blocks(type, values.data(), n * k, stored.data());
    if (type == DType::Q8_0) stored[5] = std::byte{0x80};  // -128, which no quantiser makes
    weight.set_stored_rows(0, stored);
    bias.assign(static_cast<std::size_t>(weight.panels() * 16), 0.0f);
    for (std::int64_t j = 0; j < n; ++j) bias[static_cast<std::size_t>(j)] = normal(random);

    x_stride = weight.padded_k() + 32;
    y_stride = weight.panels() * 16 + 16;
    x = Buffer<std::byte>(static_cast<std::size_t>(rows * row_size()));
    std::vector<float> row(static_cast<std::size_t>(k));
    for (int r = 0; r < rows; ++r) {
      for (float& v : row) v = normal(random);
      row[static_cast<std::size_t>(r) % row.size()] *= 30.0f;  // outliers, as activations have
      quantize_row_reference(row.data(), k, block(r, 0));
    }
  }

  std::int64_t row_size() const { return row_bytes(InputForm::Blocks8, x_stride); }
  QuantBlock* block(std::int64_t row, std::int64_t i) {
    return reinterpret_cast<QuantBlock*>(x.data() + row * row_size()) + i;
  }
  const QuantBlock* block(std::int64_t row, std::int64_t i) const {
    return reinterpret_cast<const QuantBlock*>(x.data() + row * row_size()) + i;
  }

  Buffer<float> new_output(float value = 0.0f) const {
    Buffer<float> y(static_cast<std::size_t>(rows * y_stride));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = value;
    return y;
  }

  GemmTask task(float* y, int row_count) const {
    return {.w = reinterpret_cast<const char*>(weight.panel(0)),
            .panels = weight.panels(),
            .steps = weight.steps(),
            .x = reinterpret_cast<const char*>(x.data()),
            .x_stride = row_size(),
            .rows = row_count,
            .y = y,
            .y_stride = y_stride,
            .bias = nullptr,
            .accumulate = false};
  }
  GemmTask task(float* y) const { return task(y, rows); }
};

inline bool same_bits(const Buffer<float>& a, const Buffer<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace augur
