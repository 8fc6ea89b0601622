#include "model/expert_rows.h"

#include <algorithm>

#include "kernels/ops.h"

namespace augur {

void ExpertRows::reserve(const ExpertSpec& spec, std::int64_t rows) {
  const auto places = static_cast<std::size_t>(rows) * static_cast<std::size_t>(spec.active);
  for (auto* by_place : {&chosen_, &place_, &row_at_}) by_place->reserve(places);
  shares_.reserve(places);
  counts_.reserve(static_cast<std::size_t>(spec.count));
  groups_.reserve(std::min(places, static_cast<std::size_t>(spec.count)));
}

void ExpertRows::reset(const ExpertSpec& spec, int rows) {
  spec_ = spec;
  rows_ = rows;
  const auto places = static_cast<std::size_t>(rows) * static_cast<std::size_t>(spec.active);
  for (auto* by_place : {&chosen_, &place_, &row_at_}) by_place->resize(places);
  shares_.resize(places);
}

void ExpertRows::route(int row, float* scores, const float* bias) {
  int* chosen = chosen_.data() + index(row, 0);
  float* shares = shares_.data() + index(row, 0);
  if (spec_.sigmoid) sigmoid_row(scores, spec_.count, scores);
  const auto better = [&](int a, int b) {
    return bias == nullptr ? scores[a] > scores[b] : scores[a] + bias[a] > scores[b] + bias[b];
  };
  int held = 0;
  for (int e = 0; e < spec_.count; ++e) {
    if (held == spec_.active && !better(e, chosen[held - 1])) continue;
    int at = held < spec_.active ? held++ : held - 1;
    for (; at > 0 && better(e, chosen[at - 1]); --at) chosen[at] = chosen[at - 1];
    chosen[at] = e;
  }
  spec_.sigmoid ? share_by_sigmoid(scores, chosen, shares) : share_by_softmax(scores, chosen, shares);
}

void ExpertRows::share_by_softmax(const float* scores, const int* chosen, float* shares) const {
  const float best = scores[chosen[0]];
  for (int i = 0; i < spec_.active; ++i) shares[i] = scores[chosen[i]];
  const bool of_all = spec_.softmax_of_all && !spec_.normalise;
  const float sum =
      of_all ? sum_exp(scores, spec_.count, best, 1.0f) : sum_exp(shares, spec_.active, best, 1.0f);
  exp_row(shares, spec_.active, best, 1.0f, shares);
  for (int i = 0; i < spec_.active; ++i) shares[i] /= sum;
}

void ExpertRows::share_by_sigmoid(const float* scores, const int* chosen, float* shares) const {
  float sum = 0;
  for (int i = 0; i < spec_.active; ++i) {
    shares[i] = scores[chosen[i]];
    sum += shares[i];
  }
  for (int i = 0; i < spec_.active; ++i) {
    if (spec_.normalise) shares[i] /= sum + spec_.sum_offset;
    shares[i] *= spec_.scale;
  }
}

void ExpertRows::group() {
  counts_.assign(static_cast<std::size_t>(spec_.count), 0);
  for (int p = 0; p < places(); ++p)
    ++counts_[static_cast<std::size_t>(chosen_[static_cast<std::size_t>(p)])];
  groups_.clear();
  int first = 0;
  for (int e = 0; e < spec_.count; ++e) {
    int& count = counts_[static_cast<std::size_t>(e)];
    if (count > 0) groups_.push_back({e, first, count});
    first += count;
    count = first - count;  // from here on: the expert's next place
  }
  for (int row = 0; row < rows_; ++row) {
    for (int i = 0; i < spec_.active; ++i) {
      const int place = counts_[static_cast<std::size_t>(chosen_[index(row, i)])]++;
      place_[index(row, i)] = place;
      row_at_[static_cast<std::size_t>(place)] = row;
    }
  }
}

}  // namespace augur
