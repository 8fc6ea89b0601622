#include "lab/train/row_grade.h"

#include <array>
#include <cstdint>
#include <vector>

#include "base/every_width.h"
#include "kernels/ops.h"
#include "lab/train/torch_rows.h"

namespace augur {

namespace {

constexpr std::int64_t kLanes = 16;  // sums in so many parts, which compilers make vectors of

/// sum p_i and sum p_i x_i.
AUGUR_FOR_EVERY_WIDTH
std::array<float, 2> moments(const float* p, const float* x, std::int64_t n) {
  std::array<float, kLanes> sums{}, products{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      sums[l] += p[i + l];
      products[l] += p[i + l] * x[i + l];
    }
  }
  std::array<float, 2> out{};
  for (std::int64_t l = 0; l < kLanes; ++l) {
    out[0] += sums[l];
    out[1] += products[l];
  }
  for (; i < n; ++i) {
    out[0] += p[i];
    out[1] += p[i] * x[i];
  }
  return out;
}

/// q becomes w (q - p).
AUGUR_FOR_EVERY_WIDTH
void weighed_difference(float* q, const float* p, float w, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) q[i] = w * (q[i] - p[i]);
}

}  // namespace

RowGrades grade_rows(torch::Tensor& logits, const torch::Tensor& targets, const torch::Tensor& favourites,
                     const torch::Tensor& wanted, const torch::Tensor& weights, bool learning) {
  const std::int64_t rows = logits.size(0);
  const TorchRows outputs(logits), distributions(targets);
  const std::int64_t width = outputs.width();
  RowGrades out{.loss = torch::empty({rows}, torch::kFloat32), .agreed = torch::empty({rows}, torch::kBool)};
  const auto* target = wanted.data_ptr<std::int64_t>();
  const float* weight = weights.defined() ? weights.data_ptr<float>() : nullptr;
  const auto* favourite = favourites.data_ptr<std::int64_t>();
  std::vector<float> x(static_cast<std::size_t>(width)), p(x.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    outputs.read(r, 0, x);
    distributions.read(target[r], 0, p);
    const float w = weight != nullptr ? weight[r] : 1;
    const float norm = log_sum_exp(x.data(), width);
    const auto [sum, product] = moments(p.data(), x.data(), width);
    out.loss.data_ptr<float>()[r] = w * (sum * norm - product);
    out.agreed.data_ptr<bool>()[r] = argmax(x.data(), width) == favourite[target[r]];
    if (!learning) continue;
    exp_row(x.data(), width, norm, 1.0f, x.data());
    weighed_difference(x.data(), p.data(), w, width);
    outputs.write(r, 0, x);
  }
  return out;
}

torch::Tensor row_favourites(const torch::Tensor& x) {
  if (!x.is_cpu()) return x.argmax(-1);
  const TorchRows rows(x);
  torch::Tensor out = torch::empty({x.size(0)}, torch::kInt64);
  std::vector<float> row(static_cast<std::size_t>(rows.width()));
  for (std::int64_t r = 0; r < x.size(0); ++r) {
    rows.read(r, 0, row);
    out.data_ptr<std::int64_t>()[r] = argmax(row.data(), rows.width());
  }
  return out;
}

void row_softmax(const torch::Tensor& x, torch::Tensor& out) {
  if (!x.is_cpu()) {
    out.copy_(x.to(torch::kFloat32).softmax(-1));
    return;
  }
  const TorchRows rows(x), results(out);
  std::vector<float> row(static_cast<std::size_t>(rows.width()));
  for (std::int64_t r = 0; r < x.size(0); ++r) {
    rows.read(r, 0, row);
    softmax(row.data(), rows.width(), 1, row.data());
    results.write(r, 0, row);
  }
}

}  // namespace augur
