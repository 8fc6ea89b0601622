#include "train/row_grade.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/ops.h"

namespace augur {

namespace {

constexpr std::int64_t kLanes = 16;  // sums and maxima in so many parts, which compilers make vectors of

float widen(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// To the nearest, ties to even; finite values only.
std::uint16_t narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

const std::uint16_t* bits_of(const torch::Tensor& x) {
  return reinterpret_cast<const std::uint16_t*>(x.data_ptr<at::BFloat16>());
}

void widen_row(const std::uint16_t* in, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = widen(in[i]);
}

float largest(const float* x, std::int64_t n) {
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  }
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes.begin(), lanes.end());
}

std::int64_t favourite(const float* x, std::int64_t n) {
  return std::find(x, x + n, largest(x, n)) - x;
}

/// sum p_i and sum p_i x_i.
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

}  // namespace

RowGrades grade_rows(const torch::Tensor& logits, const torch::Tensor& targets, bool learning) {
  const std::int64_t rows = logits.size(0);
  const std::int64_t width = logits.size(1);
  RowGrades out{.loss = torch::empty({rows}, torch::kFloat32),
                .gradient = learning ? torch::empty_like(logits) : torch::Tensor(),
                .agreed = torch::empty({rows}, torch::kBool)};
  std::vector<float> x(static_cast<std::size_t>(width)), p(x.size()), q(x.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    widen_row(bits_of(logits) + r * width, width, x.data());
    widen_row(bits_of(targets) + r * width, width, p.data());
    const float norm = log_sum_exp(x.data(), width);
    const auto [sum, product] = moments(p.data(), x.data(), width);
    out.loss.data_ptr<float>()[r] = sum * norm - product;
    out.agreed.data_ptr<bool>()[r] = favourite(x.data(), width) == favourite(p.data(), width);
    if (!learning) continue;
    exp_row(x.data(), width, norm, 1.0f, q.data());
    auto* gradient = reinterpret_cast<std::uint16_t*>(out.gradient.data_ptr<at::BFloat16>()) + r * width;
    for (std::int64_t i = 0; i < width; ++i) gradient[i] = narrow(q[i] - p[i]);
  }
  return out;
}

torch::Tensor row_favourites(const torch::Tensor& x) {
  const std::int64_t width = x.size(1);
  torch::Tensor out = torch::empty({x.size(0)}, torch::kInt64);
  std::vector<float> row(static_cast<std::size_t>(width));
  for (std::int64_t r = 0; r < x.size(0); ++r) {
    widen_row(bits_of(x) + r * width, width, row.data());
    out.data_ptr<std::int64_t>()[r] = favourite(row.data(), width);
  }
  return out;
}

}  // namespace augur
