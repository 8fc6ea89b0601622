#include "model/product_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "kernels/ops.h"

namespace augur {
namespace {

constexpr const char* kVariable = "AUGUR_GEMM_PLAN";

/// Weights that a pass reads: with few rows more than a core's share of the caches, so that they come from
/// memory. More rows take longer for every weight, and their weights wait in the caches anyway.
constexpr std::int64_t kFewRowsBytes = 48 << 20;
constexpr std::int64_t kManyRowsBytes = 12 << 20;
/// Less is in a core's second-level cache sooner or later.
constexpr std::int64_t kLeastBytes = 8 << 20;
constexpr int kFewRows = 4;
constexpr int kManyRows = 32;
constexpr int kRounds = 5;
/// What a candidate has to take less of than the one before it.
constexpr double kFaster = 0.97;

/// Products with matrices of one type, one after the other.
class Products {
 public:
  Products(Backend& backend, std::span<const PackedMatrix* const> matrices) : backend_(backend) {
    std::int64_t longest = 0;
    std::int64_t left = kFewRowsBytes;
    for (const PackedMatrix* matrix : matrices) {
      if (left <= 0) break;
      const std::int64_t panels = std::min(matrix->panels(), left / matrix->panel_bytes() + 1);
      parts_.push_back({matrix, panels});
      left -= panels * matrix->panel_bytes();
      longest = std::max(longest, row_bytes(matrix->input_type(), activation_stride(matrix->k())));
      most_panels_ = std::max(most_panels_, panels);
    }
    x_ = Buffer<std::byte>(static_cast<std::size_t>(kManyRows * longest));
    y_ = Buffer<float>(static_cast<std::size_t>(kManyRows * most_panels_ * PackedMatrix::kPanel));
  }

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const Part& part : parts_) sum += part.panels * part.matrix->panel_bytes();
    return sum;
  }
  /// Of a pass over all of them, or with many rows over the first.
  double ms(int rows, const GemmPlan& plan) {
    const std::int64_t bytes = rows > kFewRows ? kManyRowsBytes : kFewRowsBytes;
    const Stopwatch watch;
    backend_.pool.run([&](Team& team) {
      std::int64_t left = bytes;
      for (const Part& part : parts_) {
        if (left <= 0) break;
        const std::int64_t panels = std::min(part.panels, left / part.matrix->panel_bytes() + 1);
        left -= panels * part.matrix->panel_bytes();
        backend_.kernels.product({.weight = part.matrix,
                                  .x = x_.data(),
                                  .x_stride = activation_stride(part.matrix->k()),
                                  .rows = rows,
                                  .y = y_.data(),
                                  .y_stride = most_panels_ * PackedMatrix::kPanel},
                                 split_range(panels, team.rank(), team.size()), plan);
      }
    });
    return watch.ms();
  }

 private:
  struct Part {
    const PackedMatrix* matrix;
    std::int64_t panels;
  };

  Backend& backend_;
  std::vector<Part> parts_;
  std::int64_t most_panels_ = 0;
  Buffer<std::byte> x_;
  Buffer<float> y_;
};

/// Sets a field of the plan to the fastest of some values, the one it has among them.
void choose(Products& products, int rows, int GemmPlan::*field, std::initializer_list<int> others,
            GemmPlan& plan) {
  std::vector<int> values = {plan.*field};
  values.insert(values.end(), others);
  std::vector<double> best(values.size(), std::numeric_limits<double>::max());
  for (int round = 0; round <= kRounds; ++round) {  // the first one warms up
    for (std::size_t i = 0; i < values.size(); ++i) {
      GemmPlan candidate = plan;
      candidate.*field = values[i];
      const double ms = products.ms(rows, candidate);
      if (round > 0) best[i] = std::min(best[i], ms);
    }
  }
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (best[i] < best[chosen] * (chosen == 0 ? kFaster : 1.0)) chosen = i;
  }
  plan.*field = values[chosen];
}

}  // namespace

std::optional<GemmPlan> forced_plan() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  GemmPlan plan;
  int end = -1;
  std::sscanf(text, "%d,%d,%d,%d%n", &plan.one_row_panels, &plan.few_rows_panels, &plan.stream_lines,
              &plan.block_kib, &end);
  bool fine = end >= 0 && text[end] == '\0';
  for (const PlanField& field : kPlanFields) {
    fine = fine && plan.*field.value >= 1 && plan.*field.value <= field.largest;
  }
  if (!fine) throw Error("{}: '{}': expected four numbers from 1 on, as 4,2,160,192", kVariable, text);
  return plan;
}

std::string to_string(const GemmPlan& plan) {
  return fmt::format("{},{},{},{}", plan.one_row_panels, plan.few_rows_panels, plan.stream_lines,
                     plan.block_kib);
}

std::optional<GemmPlan> fastest_plan(Backend& backend, std::span<const PackedMatrix* const> matrices) {
  if (backend.kernels.isa == Isa::Portable) return std::nullopt;
  Products products(backend, matrices);
  if (products.bytes() < kLeastBytes) return std::nullopt;
  GemmPlan plan;
  choose(products, 1, &GemmPlan::one_row_panels, {1, 4}, plan);
  choose(products, 1, &GemmPlan::stream_lines, {80, 320}, plan);
  choose(products, kFewRows, &GemmPlan::few_rows_panels, {1, 4}, plan);
  choose(products, kManyRows, &GemmPlan::block_kib, {24, 96}, plan);
  return plan;
}

}  // namespace augur
