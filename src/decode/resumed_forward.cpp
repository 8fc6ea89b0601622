#include "decode/resumed_forward.h"

#include <algorithm>

#include "base/index.h"
#include "tree/usual_sizes.h"

namespace augur {

void ResumedForward::begin(int lowest_tap, std::size_t sequences, std::size_t rows) {
  lowest_tap_ = lowest_tap;
  layers_ = 0;
  early_.clear();
  early_row_.clear();
  offsets_.clear();
  // Trees differ in size from round to round.
  offsets_.reserve(std::max(rows, kUsualRows));
  early_row_.reserve(std::max(rows, kUsualRows));
  early_.reserve(sequences);
}

/// Finds the rows that are nodes of the tree: those with the same path of tokens. False without the root.
bool ResumedForward::match(const DraftTree& tree, const EarlyRows& early) {
  matched_.assign(at(tree.size()), -1);
  if (early.tokens.empty() || early.tokens[0] != tree.tokens()[0]) return false;
  matched_[0] = 0;
  for (std::int32_t node = 1; node < tree.size(); ++node) {
    const std::int32_t parent = matched_[at(tree.parents()[at(node)])];
    if (parent < 0) continue;
    for (auto row = at(parent) + 1; row < early.tokens.size() && matched_[at(node)] < 0; ++row) {
      const bool same = early.parents[row] == parent && early.tokens[row] == tree.tokens()[at(node)];
      if (same) matched_[at(node)] = static_cast<std::int32_t>(row);
    }
  }
  return true;
}

bool ResumedForward::add_tree(const DraftTree& tree, const EarlyRows& early) {
  if (early.layers > lowest_tap_ || (layers_ != 0 && layers_ != early.layers) || !match(tree, early))
    return false;
  const std::int64_t rest = std::count(matched_.begin(), matched_.end(), -1);
  if (std::ssize(early.tokens) + rest > early.txn.rows()) return false;
  layers_ = early.layers;
  early_.push_back(&early);
  auto next = static_cast<std::int32_t>(early.tokens.size());
  for (const std::int32_t row : matched_) {
    early_row_.push_back(row);
    offsets_.push_back(row >= 0 ? row : next++);
  }
  return true;
}

void ResumedForward::add_rows(int rows) {
  early_.push_back(nullptr);
  for (std::int32_t i = 0; i < rows; ++i) {
    early_row_.push_back(-1);
    offsets_.push_back(i);
  }
}

/// The rows that the first layers have not seen.
void ResumedForward::collect_remaining(const TokenBatch& batch) {
  tokens_.clear();
  positions_.clear();
  parents_.clear();
  sequences_.clear();
  rows_.clear();
  place_of_.assign(batch.tokens.size(), -1);
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const TokenBatch::Sequence& sequence = batch.sequences[i];
    const auto first = static_cast<int>(tokens_.size());
    for (std::int32_t row = sequence.first_row; row < sequence.first_row + sequence.rows; ++row) {
      if (early_row_[at(row)] >= 0) continue;
      const std::int32_t parent = batch.parents[at(row)];
      place_of_[at(row)] = static_cast<std::int32_t>(tokens_.size());
      rows_.push_back(row);
      tokens_.push_back(batch.tokens[at(row)]);
      positions_.push_back(batch.positions[at(row)]);
      parents_.push_back(parent < 0                    ? -1
                         : early_row_[at(parent)] >= 0 ? -2 - early_row_[at(parent)]
                                                       : place_of_[at(parent)]);
    }
    const int rows = static_cast<int>(tokens_.size()) - first;
    if (rows == 0) continue;
    sequences_.push_back({.kv = sequence.kv, .first_row = first, .rows = rows});
    if (early_[i] == nullptr) continue;
    sequences_.back().earlier_rows = static_cast<int>(early_[i]->tokens.size());
    sequences_.back().earlier_parents = early_[i]->parents.data();
  }
}

void ResumedForward::run(Model& target, const TokenBatch& batch, std::span<const Tap> taps) {
  if (layers_ == 0) return target.forward(batch, {.taps = taps});
  const std::int64_t hidden = target.config().hidden;
  entrance_.resize(batch.tokens.size() * at(hidden));
  all_.assign(batch.sequences.begin(), batch.sequences.end());
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (early_[i] == nullptr) continue;
    all_[i].slots = offsets_.data() + all_[i].first_row;
    for (std::int32_t row = all_[i].first_row; row < all_[i].first_row + all_[i].rows; ++row) {
      if (early_row_[at(row)] < 0) continue;
      std::copy_n(early_[i]->hidden + early_row_[at(row)] * hidden, hidden, entrance_.data() + row * hidden);
    }
  }
  collect_remaining(batch);
  if (!tokens_.empty()) {
    target.forward({.tokens = tokens_, .positions = positions_, .parents = parents_, .sequences = sequences_},
                   {.last_layer = layers_});
    const std::span<const float> results = target.result();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::copy_n(results.data() + at(hidden) * i, hidden, entrance_.data() + rows_[i] * hidden);
    }
  }
  TokenBatch rest = batch;
  rest.sequences = all_;
  return target.forward(rest, {.taps = taps, .first_layer = layers_, .input = entrance_.data()});
}

}  // namespace augur
