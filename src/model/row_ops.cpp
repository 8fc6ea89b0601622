#include "model/row_ops.h"

#include "kernels/ops.h"

namespace augur {

void norm_rows(Backend& backend, FloatRows x, std::int64_t rows, std::span<const float> weight, float eps,
               float* out, std::int64_t out_stride) {
  const auto width = std::ssize(weight);
  for_each_row(backend, rows, width, [&](std::int64_t r) {
    rms_norm(x.data + r * x.stride, weight.data(), eps, width, InputForm::F32, out + r * out_stride);
  });
}

}  // namespace augur
