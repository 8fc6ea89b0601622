#include "kernels/fused_top.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace augur {

void FusedTop::prepare(int threads, int rows, std::int64_t panels, int k) {
  // About 512 columns: results that stay in the first-level cache while they are ranked, weights enough to
  // get the stream going. A multiple of 16 blocks, so that every usual team gets equal parts.
  constexpr std::int64_t kPanels = 32;
  constexpr std::int64_t kParts = 16;
  k_ = k;
  panels_ = panels;
  const std::int64_t rounds = (panels + kParts * kPanels - 1) / (kParts * kPanels);
  block_panels_ = std::max<std::int64_t>(1, (panels + kParts * rounds - 1) / (kParts * rounds));
  blocks_ = (panels + block_panels_ - 1) / block_panels_;
  threads_.resize(static_cast<std::size_t>(threads));
  const auto count = static_cast<std::size_t>(rows);
  for (ThreadTop& own : threads_) {
    if (own.rows.size() < count) own.rows.resize(count);
    own.found_values.reserve(static_cast<std::size_t>(k));
    const std::size_t size = count * static_cast<std::size_t>(block_panels_ * PackedMatrix::kPanel);
    if (own.block.size() < size) own.block = Buffer<float>(size);
    own.top_k.reserve(k);
    own.found.reserve(static_cast<std::size_t>(block_panels_ * PackedMatrix::kPanel));
    for (RowTop& row : own.rows) {
      row.entries.clear();
      row.values.clear();
      row.entries.reserve(static_cast<std::size_t>(k) + 1);
      row.values.reserve(static_cast<std::size_t>(k) + 1);
    }
  }
  sums_.assign(count * static_cast<std::size_t>(blocks_), -std::numeric_limits<float>::infinity());
  if (rows_.size() < count) rows_.resize(count);
}

namespace {

/// Behind all that are as large.
void insert_sorted(RowTop& top, float value, std::int32_t entry, std::size_t most) {
  const auto place = std::upper_bound(top.values.begin(), top.values.end(), value, std::greater<>());
  top.entries.insert(top.entries.begin() + (place - top.values.begin()), entry);
  top.values.insert(place, value);
  if (top.values.size() > most) {
    top.entries.pop_back();
    top.values.pop_back();
  }
}

}  // namespace

/// Puts a block's results among the best of a row so far, which come before it.
void FusedTop::rank(ThreadTop& own, std::size_t row, std::span<const float> values,
                    std::int64_t first_column) const {
  RowTop& top = own.rows[row];
  const auto most = static_cast<std::size_t>(k_);
  if (top.values.size() < most) {
    const std::size_t kept = std::min(most, values.size());
    own.found.resize(kept);
    own.found_values.resize(kept);
    top_k(values, k_, own.top_k, own.found.data(), own.found_values.data());
    for (std::size_t i = 0; i < kept; ++i) {
      insert_sorted(top, own.found_values[i], static_cast<std::int32_t>(first_column) + own.found[i], most);
    }
    return;
  }
  // Nearly all blocks have nothing for nearly all rows: one look at each result.
  own.found.clear();
  collect_at_least(values, top.values.back(), own.found);
  for (const std::int32_t i : own.found) {
    const float value = values[static_cast<std::size_t>(i)];
    if (value > top.values.back()) {
      insert_sorted(top, value, static_cast<std::int32_t>(first_column) + i, most);
    }
  }
}

void FusedTop::multiply(const Team& team, const KernelSet& kernels, const GemmCall& call,
                        std::span<const PanelRun> runs, std::span<const std::int64_t> columns,
                        const LogitForm& form) {
  ThreadTop& own = threads_[static_cast<std::size_t>(team.rank())];
  const std::int64_t width = block_panels_ * PackedMatrix::kPanel;
  GemmCall product = call;
  product.y = own.block.data();
  product.y_stride = width;
  const Range mine = team.split(blocks_);
  for (std::int64_t b = mine.begin; b < mine.end; ++b) {
    const Range panels{b * block_panels_, std::min((b + 1) * block_panels_, panels_)};
    std::int64_t done = 0;
    visit_runs(runs, panels, [&](const PanelRun& run, std::int64_t) {
      product.first_panel = run.first;
      product.y = own.block.data() + done * PackedMatrix::kPanel;
      kernels.gemm(product, {run.first, run.first + run.count});
      done += run.count;
    });
    if (b + 1 < mine.end) {  // arrives while this block is ranked
      const Range next{panels.end, std::min(panels.end + block_panels_, panels_)};
      visit_runs(runs, next, [&](const PanelRun& run, std::int64_t) { prefetch_panels(*call.weight, run); });
    }
    const std::int64_t first = panels.begin * PackedMatrix::kPanel;
    for (std::size_t r = 0; r < static_cast<std::size_t>(call.rows); ++r) {
      const std::int64_t count = std::min(panels.size() * PackedMatrix::kPanel, columns[r] - first);
      if (count <= 0) continue;
      float* values = own.block.data() + static_cast<std::int64_t>(r) * width;
      form.apply(values, panels.size() * PackedMatrix::kPanel);
      rank(own, r, {values, static_cast<std::size_t>(count)}, first);
      sums_[r * static_cast<std::size_t>(blocks_) + static_cast<std::size_t>(b)] = log_sum_exp(values, count);
    }
  }
}

void FusedTop::merge() {
  const auto blocks = static_cast<std::size_t>(blocks_);
  const std::size_t count = blocks > 0 ? sums_.size() / blocks : 0;  // there may be memory for more rows
  for (std::size_t r = 0; r < count; ++r) {
    RowTop& row = rows_[r];
    std::swap(row, threads_.front().rows[r]);
    for (std::size_t t = 1; t < threads_.size(); ++t) {
      const RowTop& other = threads_[t].rows[r];
      for (std::size_t i = 0; i < other.values.size(); ++i) {
        insert_sorted(row, other.values[i], other.entries[i], static_cast<std::size_t>(k_));
      }
    }
    row.log_sum_exp = log_sum_exp(sums_.data() + r * blocks, blocks_);
  }
}

}  // namespace augur
