#include "vocab/vocabulary_head.h"

#include <algorithm>

#include "base/error.h"

namespace augur {
namespace {

constexpr std::int64_t kPanel = PackedMatrix::kPanel;

bool is_prefix(const Selection& selection) {
  return selection.runs.size() == 1 && selection.runs.front().first == 0;
}

}  // namespace

VocabularyHead::VocabularyHead(const HeadWeights& weights, const VocabularyChoice* choice)
    : weights_(weights), x_(weights.matrix->input_form(), activation_stride(weights.matrix->k()), 1) {
  if (choice == nullptr) return;
  observer_ = choice->observer();
  observer_reads_logits_ = choice->observer_reads_logits();
  shortlist_ = choice->make(weights);
  if (shortlist_ == nullptr) return;
  const std::span<const std::int32_t> order = shortlist_->order();
  packed_ = gather_rows(*weights.backend, *weights.matrix, order);
  if (!weights.bias.empty()) packed_bias_.assign(static_cast<std::size_t>(packed_.panels() * kPanel), 0.0f);
  for (std::size_t i = 0; i < order.size(); ++i) {
    packed_ids_.push_back(weights.target_id(order[i]));
    if (!weights.bias.empty()) packed_bias_[i] = weights.bias[static_cast<std::size_t>(order[i])];
  }
}

GemmCall VocabularyHead::product(int rows) {
  const std::span<const float> bias = shortlist_ ? packed_bias_ : weights_.bias;
  return {.weight = shortlist_ ? &packed_ : weights_.matrix,
          .x = x_.row(0),
          .x_stride = x_.stride(),
          .rows = rows,
          .y = logits_.data(),
          .y_stride = stride_,
          .bias = bias.empty() ? nullptr : bias.data()};
}

void VocabularyHead::run(std::span<const HeadRow> rows, int best) {
  if (rows.empty()) return;
  ThreadPool& pool = weights_.backend->pool;
  x_.ensure(std::ssize(rows));
  if (shortlist_) {
    shortlist_->select(rows, selection_);
  } else {
    selection_.runs.assign(1, {0, weights_.matrix->panels()});
    selection_.columns = weights_.usable;
    selection_.by_row.assign(rows.size(), weights_.usable);
  }
  if (shortlist_ && !is_prefix(selection_)) {
    column_ids_.clear();
    for (const PanelRun& run : selection_.runs) {
      const auto first = packed_ids_.begin() + run.first * kPanel;
      const auto count = std::min(run.count * kPanel, packed_.n() - run.first * kPanel);
      column_ids_.insert(column_ids_.end(), first, first + count);
    }
  }
  const std::int64_t panels = count_panels(selection_.runs);
  const auto count = static_cast<int>(rows.size());
  const KernelSet& kernels = weights_.backend->kernels;
  const bool fused = best > 0;
  const bool whole = best == 0 || (observer_ && observer_reads_logits_);
  if (fused) fused_.prepare(pool.size(), count, panels, best);
  if (whole) {
    stride_ = panels * kPanel;
    const std::size_t size = rows.size() * static_cast<std::size_t>(stride_);
    if (logits_.size() < size) logits_ = Buffer<float>(size);
  }
  pool.run([&](Team& team) {
    const Range mine = team.split(std::ssize(rows));
    for (std::int64_t r = mine.begin; r < mine.end; ++r) {
      load_head_row(weights_, rows[static_cast<std::size_t>(r)].state, weights_.matrix->input_form(),
                    x_.row(r));
    }
    team.barrier();
    if (fused)
      fused_.multiply(team, kernels, product(count), selection_.runs, selection_.by_row, weights_.form);
    if (!whole) return;
    const Range part = team.split(panels);
    gemm_runs(kernels, product(count), selection_.runs, part);
    for (std::int64_t r = 0; r < count; ++r) {
      weights_.form.apply(logits_.data() + r * stride_ + part.begin * kPanel, part.size() * kPanel);
    }
  });
  if (fused) fused_.merge();
  if (observer_) observer_(weights_, rows, *this);
}

std::span<const TokenId> VocabularyHead::target_ids() const {
  if (!shortlist_) return weights_.target_ids;
  const std::span<const TokenId> ids = is_prefix(selection_) ? packed_ids_ : column_ids_;
  return ids.first(static_cast<std::size_t>(selection_.columns));
}

void VocabularyHead::saw(std::span<const TokenId> tokens) {
  if (shortlist_) repack(shortlist_->saw(tokens));
}

void VocabularyHead::forget() {
  if (shortlist_) repack(shortlist_->forget());
}

void VocabularyHead::repack(std::span<const Shortlist::Swap> swaps) {
  for (const Shortlist::Swap& swap : swaps) {
    const auto position = static_cast<std::size_t>(swap.position);
    packed_.copy_row(swap.position, *weights_.matrix, swap.entry);
    packed_ids_[position] = weights_.target_id(swap.entry);
    if (!packed_bias_.empty()) packed_bias_[position] = weights_.bias[static_cast<std::size_t>(swap.entry)];
  }
}

}  // namespace augur
