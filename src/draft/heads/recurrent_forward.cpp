#include "draft/heads/recurrent_forward.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "draft/common/accepted_tokens.h"
#include "tree/usual_sizes.h"

namespace augur {

RecurrentForward::RecurrentForward(std::unique_ptr<RecurrentHead> head)
    : head_(std::move(head)), waiting_features_(std::make_shared<RowPool>(head_->shape().features)) {
  features_.reserve(kUsualPath * at(head_->shape().features));
  states_.reserve(kUsualPath * at(width()));
  projected_.reserve(kUsualPath * at(width()));
}

void RecurrentForward::take_accepted(SequenceRows& sequence, const AcceptedRows& rows) const {
  const std::int64_t features = head_->shape().features;
  for (std::size_t i = known_rows(rows, sequence.length()); i < rows.tokens.size(); ++i) {
    float* out = sequence.append(i + 1 < rows.tokens.size() ? rows.tokens[i + 1] : rows.next);
    std::copy_n(rows.features + static_cast<std::int64_t>(i) * features, features, out);
  }
}

bool RecurrentForward::run_chunk(SequenceRows& sequence) {
  if (!sequence.has_chunk()) return false;
  clear();
  add_waiting(sequence, SequenceRows::kChunk);
  run();
  sequence.commit();
  return true;
}

void RecurrentForward::clear() {
  batch_.clear();
  features_.clear();
  feature_runs_.clear();
  states_.clear();
}

int RecurrentForward::add_waiting(SequenceRows& sequence, std::int64_t count, bool with_placeholders) {
  const RecurrentHead::Shape& shape = head_->shape();
  const int placeholders = with_placeholders ? shape.placeholders : 0;
  const int first = sequence.begin(batch_, count, placeholders, shape.placeholder_token);
  sequence.copy_features(count, features_);
  feature_runs_.push_back({first, static_cast<int>(count)});
  states_.resize(states_.size() + at(count * width()));
  for (int i = 0; i < placeholders; ++i) add_state(head_->placeholder_state());
  return first;
}

void RecurrentForward::add_state(std::span<const float> state) {
  states_.insert(states_.end(), state.begin(), state.end());
}

void RecurrentForward::run() {
  if (!feature_runs_.empty()) {
    const auto count = features_.size() / at(head_->shape().features);
    projected_.resize(count * at(width()));
    head_->project(features_.data(), static_cast<int>(count), projected_.data());
    const float* from = projected_.data();
    for (const FeatureRun& r : feature_runs_) {
      std::copy_n(from, r.rows * width(), states_.data() + r.first_row * width());
      from += r.rows * width();
    }
  }
  results_ = head_->run(batch_.view(), states_.data());
}

std::span<const float> RecurrentForward::results(int first, int count) const {
  return results_.subspan(at(first * width()), at(count * width()));
}

void RecurrentForward::fill(HeadRow& out, int row) const {
  out.state = head_->exit_row(row);
  out.previous = states_.data() + row * width();
}

}  // namespace augur
