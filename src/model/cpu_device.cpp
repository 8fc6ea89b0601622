#include "model/cpu_device.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "kernels/attention.h"
#include "kernels/ops.h"
#include "model/cpu_stack.h"
#include "model/forward_pass.h"

namespace augur {

namespace {

class CpuProduct final : public DeviceProduct {
 public:
  explicit CpuProduct(Backend& backend) : backend_(backend) {}

  void run(const RowProduct& product, std::span<const float* const> rows) override {
    if (rows.empty()) return;
    const PackedMatrix& matrix = *product.matrix;
    const InputForm form = matrix.input_form();
    if (form != form_ || x_.stride() != activation_stride(matrix.k())) {
      form_ = form;
      x_ = RowBuffer(form, activation_stride(matrix.k()), 1);
    }
    x_.ensure(std::ssize(rows));
    prepare_top(backend_, product, static_cast<int>(rows.size()));
    backend_.pool.run([&](Team& team) {
      const Range mine = team.split(std::ssize(rows));
      for (std::int64_t r = mine.begin; r < mine.end; ++r) {
        prepare_row(rows[static_cast<std::size_t>(r)], norm_of(product), product.eps, matrix.k(), form,
                    x_.row(r));
      }
      team.barrier();
      multiply_rows(team, backend_.kernels, product,
                    {.x = x_.row(0), .stride = x_.stride(), .count = static_cast<int>(rows.size())});
    });
    if (product.top != nullptr) product.top->merge();
  }

 private:
  Backend& backend_;
  InputForm form_ = InputForm::F32;
  RowBuffer x_;  ///< [rows, k] as the product reads them
};

}  // namespace

void CpuDevice::take(PackedMatrix& /*matrix*/) {}

void CpuDevice::read_row(const PackedMatrix& matrix, std::int64_t row, float* out) const {
  matrix.get_row(row, out);
}

void CpuDevice::copy_rows(PackedMatrix& to, std::int64_t first, const PackedMatrix& from,
                          std::span<const std::int32_t> rows) {
  const auto copy = [&](Range part) {
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      to.copy_row(first + i, from, rows[static_cast<std::size_t>(i)]);
    }
  };
  // Threads write to panels of their own.
  constexpr std::int64_t kPanel = PackedMatrix::kPanel;
  if (first % kPanel != 0 || std::ssize(rows) < kPanel) return copy({0, std::ssize(rows)});
  host_.pool.run([&](Team& team) { copy(team.split(std::ssize(rows), kPanel)); });
}

std::unique_ptr<DeviceStack> CpuDevice::make_stack(const StackSpec& spec) {
  if (!spec.share.whole())
    throw Error(ErrorKind::Internal, "the CPU computes all of a model's layers, experts and columns");
  return std::make_unique<CpuStack>(host_, spec);
}

std::unique_ptr<DeviceProduct> CpuDevice::make_product() {
  return std::make_unique<CpuProduct>(host_);
}

}  // namespace augur
