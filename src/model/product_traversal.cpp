#include "model/product_traversal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fastest_way.h"
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
      read_.push_back({matrix, panels});
      left -= panels * matrix->panel_bytes();
      longest = std::max(longest, row_bytes(matrix->input_form(), activation_stride(matrix->k())));
      most_panels_ = std::max(most_panels_, panels);
    }
    x_ = Buffer<std::byte>(static_cast<std::size_t>(kManyRows * longest));
    y_ = Buffer<float>(static_cast<std::size_t>(kManyRows * most_panels_ * PackedMatrix::kPanel));
  }

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const FirstPanels& some : read_) sum += some.panels * some.matrix->panel_bytes();
    return sum;
  }
  /// Of a pass over all of them, or with many rows over the first.
  double ms(int rows, const GemmTraversal& traversal) {
    const std::int64_t bytes = rows > kFewRows ? kManyRowsBytes : kFewRowsBytes;
    const Stopwatch watch;
    backend_.pool.run([&](Team& team) {
      std::int64_t left = bytes;
      for (const FirstPanels& some : read_) {
        if (left <= 0) break;
        const std::int64_t panels = std::min(some.panels, left / some.matrix->panel_bytes() + 1);
        left -= panels * some.matrix->panel_bytes();
        backend_.kernels.product({.weight = some.matrix,
                                  .x = x_.data(),
                                  .x_stride = activation_stride(some.matrix->k()),
                                  .rows = rows,
                                  .y = y_.data(),
                                  .y_stride = most_panels_ * PackedMatrix::kPanel},
                                 split_range(panels, team.rank(), team.size()), traversal);
      }
    });
    return watch.ms();
  }

 private:
  struct FirstPanels {
    const PackedMatrix* matrix;
    std::int64_t panels;
  };

  Backend& backend_;
  std::vector<FirstPanels> read_;
  std::int64_t most_panels_ = 0;
  Buffer<std::byte> x_;
  Buffer<float> y_;
};

/// What is compared with GemmTraversal's own. One panel after the other is read like a file; with one row,
/// and weights that take few instructions, processors prefetch that best by themselves.
constexpr std::array<GemmTraversal::Stream, 8> kStreams = {{
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

/// Sets a part of the traversal to the fastest of some values, the one it has among them.
template <class T>
void choose(Products& products, int rows, T GemmTraversal::*field, std::span<const T> others,
            ChosenTraversal& chosen) {
  std::vector<T> values = {chosen.traversal.*field};
  values.insert(values.end(), others.begin(), others.end());
  const FastestWay fastest = fastest_way(values.size(), kFaster, [&](std::size_t way) {
    GemmTraversal candidate = chosen.traversal;
    candidate.*field = values[way];
    return products.ms(rows, candidate);
  });
  chosen.traversal.*field = values[fastest.way];
  chosen.doubt = std::max(chosen.doubt, fastest.doubt);
}

}  // namespace

std::optional<GemmTraversal> forced_traversal() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  GemmTraversal traversal;
  const char* rest = text;
  bool fine = true;
  for (const TraversalField& field : kTraversalFields) {
    int& value = field.in(traversal);
    if (&field != kTraversalFields.data()) fine = fine && *rest++ == ',';
    int length = 0;
    fine = fine && std::sscanf(rest, "%d%n", &value, &length) == 1 && value >= field.least &&
           value <= field.largest;
    rest += length;
  }
  if (!fine || *rest != '\0') {
    throw Error("{}: '{}': expected {} numbers, as {}", kVariable, text, kTraversalFields.size(),
                to_string(GemmTraversal{}));
  }
  return traversal;
}

std::string to_string(const GemmTraversal& traversal) {
  GemmTraversal copy = traversal;
  std::vector<int> numbers;
  for (const TraversalField& field : kTraversalFields) numbers.push_back(field.in(copy));
  return fmt::format("{}", fmt::join(numbers, ","));
}

bool ChosenTraversal::in_doubt() const {
  return doubt > 1 - kFaster;
}

std::optional<ChosenTraversal> fastest_traversal(Backend& backend,
                                                 std::span<const PackedMatrix* const> matrices) {
  if (backend.kernels.isa == Isa::Portable) return std::nullopt;
  Products products(backend, matrices);
  if (products.bytes() < kLeastBytes) return std::nullopt;
  ChosenTraversal chosen;
  choose<GemmTraversal::Stream>(products, 1, &GemmTraversal::one_row, kStreams, chosen);
  choose<GemmTraversal::Stream>(products, kFewRows, &GemmTraversal::few_rows, kStreams, chosen);
  choose<int>(products, kManyRows, &GemmTraversal::block_kib, kBlockKib, chosen);
  return chosen;
}

}  // namespace augur
