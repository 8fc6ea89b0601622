#include "model/product_traversal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
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
      longest = std::max(longest, row_bytes(matrix->input_form(), activation_stride(matrix->k())));
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

/// What is compared with GemmPlan's own. One panel after the other is read like a file; with one row, and
/// weights that take few instructions, processors prefetch that best by themselves.
constexpr std::array<GemmPlan::Stream, 8> kStreams = {{
    {.panels = 1, .near_lines = 0, .far_lines = 0},
    {.panels = 1, .near_lines = 24, .far_lines = 160},
    {.panels = 1, .near_lines = 40, .far_lines = 0},
    {.panels = 1, .near_lines = 160, .far_lines = 0},
    {.panels = 2, .near_lines = 48, .far_lines = 320},
    {.panels = 2, .near_lines = 160, .far_lines = 0},
    {.panels = 4, .near_lines = 160, .far_lines = 0},
    {.panels = 4, .near_lines = 320, .far_lines = 0},
}};
constexpr std::array<int, 2> kBlockKib = {24, 96};

/// Sets a part of the plan to the fastest of some values, the one it has among them.
template <class T>
void choose(Products& products, int rows, T GemmPlan::*field, std::span<const T> others, GemmPlan& plan) {
  std::vector<T> values = {plan.*field};
  values.insert(values.end(), others.begin(), others.end());
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
  const char* rest = text;
  bool fine = true;
  for (const PlanField& field : kPlanFields) {
    int& value = field.in(plan);
    if (&field != kPlanFields.data()) fine = fine && *rest++ == ',';
    int length = 0;
    fine = fine && std::sscanf(rest, "%d%n", &value, &length) == 1 && value >= field.least &&
           value <= field.largest;
    rest += length;
  }
  if (!fine || *rest != '\0') {
    throw Error("{}: '{}': expected {} numbers, as {}", kVariable, text, kPlanFields.size(),
                to_string(GemmPlan{}));
  }
  return plan;
}

std::string to_string(const GemmPlan& plan) {
  GemmPlan copy = plan;
  std::vector<int> numbers;
  for (const PlanField& field : kPlanFields) numbers.push_back(field.in(copy));
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::optional<GemmPlan> fastest_plan(Backend& backend, std::span<const PackedMatrix* const> matrices) {
  if (backend.kernels.isa == Isa::Portable) return std::nullopt;
  Products products(backend, matrices);
  if (products.bytes() < kLeastBytes) return std::nullopt;
  GemmPlan plan;
  choose<GemmPlan::Stream>(products, 1, &GemmPlan::one_row, kStreams, plan);
  choose<GemmPlan::Stream>(products, kFewRows, &GemmPlan::few_rows, kStreams, plan);
  choose<int>(products, kManyRows, &GemmPlan::block_kib, kBlockKib, plan);
  return plan;
}

}  // namespace augur
