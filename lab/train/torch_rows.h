#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "base/dtype.h"
#include "kernels/input_form.h"
#include "kernels/ops.h"

namespace augur {

/// Rows of a contiguous matrix on the CPU, float32 or bfloat16, as the engine's kernels see them: as floats.
/// Keeps the matrix. Rows may be written from several threads, each by one.
class TorchRows {
 public:
  explicit TorchRows(torch::Tensor x)
      : kept_(std::move(x)),
        first_(static_cast<std::byte*>(kept_.data_ptr())),
        form_(kept_.scalar_type() == torch::kBFloat16 ? InputForm::BF16 : InputForm::F32),
        value_bytes_(kept_.element_size()),
        width_(kept_.size(1)) {
    TORCH_CHECK(kept_.is_cpu() && kept_.is_contiguous(),
                "rows that are worked through lie one after another");
    TORCH_CHECK(form_ == InputForm::BF16 || kept_.scalar_type() == torch::kFloat32, "rows of type ",
                kept_.scalar_type());
  }
  std::int64_t count() const { return kept_.size(0); }
  std::int64_t width() const { return width_; }

  void read(std::int64_t row, std::int64_t column, std::span<float> out) const {
    const std::byte* in = at(row, column);
    if (form_ == InputForm::F32) {
      std::memcpy(out.data(), in, out.size_bytes());
      return;
    }
    const auto* values = reinterpret_cast<const BF16*>(in);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_float(values[i]);
  }
  void write(std::int64_t row, std::int64_t column, std::span<const float> in) const {
    convert_row(in.data(), std::ssize(in), form_, at(row, column));
  }
  void clear(std::int64_t row) const {
    std::memset(at(row, 0), 0, static_cast<std::size_t>(width_ * value_bytes_));
  }

 private:
  std::byte* at(std::int64_t row, std::int64_t column) const {
    return first_ + (row * width_ + column) * value_bytes_;
  }

  torch::Tensor kept_;
  std::byte* first_;
  InputForm form_;
  std::int64_t value_bytes_;
  std::int64_t width_;
};

}  // namespace augur
