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
    : weights_(weights), product_(weights.device->make_product()) {
  if (choice == nullptr) return;
  observer_ = choice->observer();
  observer_reads_logits_ = choice->observer_reads_logits();
  shortlist_ = choice->make(weights);
  if (shortlist_ == nullptr) return;
  const std::span<const std::int32_t> order = shortlist_->order();
  packed_ = shortlist_->changes() ? gather_rows(*weights.device, *weights.matrix, order)
                                  : gather_shared_rows(*weights.device, *weights.matrix, order);
  if (!weights.bias.empty()) packed_bias_.assign(static_cast<std::size_t>(packed_.panels() * kPanel), 0.0f);
  for (std::size_t i = 0; i < order.size(); ++i) {
    packed_ids_.push_back(weights.target_id(order[i]));
    if (!weights.bias.empty()) packed_bias_[i] = weights.bias[static_cast<std::size_t>(order[i])];
  }
}

RowProduct VocabularyHead::product() const {
  return {.matrix = shortlist_ ? &packed_ : weights_.matrix,
          .norm = weights_.norm,
          .eps = weights_.eps,
          .bias = shortlist_ ? packed_bias_ : weights_.bias,
          .form = weights_.form,
          .runs = selection_.runs};
}

void VocabularyHead::run(std::span<const HeadRow> rows, int best) {
  if (rows.empty()) return;
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
  RowProduct call = product();
  if (best > 0) {
    call.top = &fused_;
    call.best = best;
    call.columns = selection_.by_row;
  }
  if (best == 0 || (observer_ && observer_reads_logits_)) {
    stride_ = count_panels(selection_.runs) * kPanel;
    const std::size_t size = rows.size() * static_cast<std::size_t>(stride_);
    if (logits_.size() < size) logits_ = Buffer<float>(size);
    call.out = logits_.data();
    call.out_stride = stride_;
  }
  states_.clear();
  for (const HeadRow& row : rows) states_.push_back(row.state);
  product_->run(call, states_);
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
    weights_.device->copy_rows(packed_, swap.position, *weights_.matrix, {&swap.entry, 1});
    packed_ids_[position] = weights_.target_id(swap.entry);
    if (!packed_bias_.empty()) packed_bias_[position] = weights_.bias[static_cast<std::size_t>(swap.entry)];
  }
}

}  // namespace augur
