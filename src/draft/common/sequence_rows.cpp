#include "draft/common/sequence_rows.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "tree/usual_sizes.h"

namespace augur {

SequenceRows::SequenceRows(KvCache cache, std::shared_ptr<RowPool> features)
    : cache_(std::move(cache)), features_(std::move(features)) {
  tokens_.reserve(kUsualPath);
  newest_features_.reserve(features_.width());  // commit() must not stop halfway
}

void SequenceRows::reset() {
  roll_back();
  cache_.truncate(0);
  tokens_.clear();
  features_.clear();
}

float* SequenceRows::append(TokenId token) {
  float* const features = features_.append();
  tokens_.push_back(token);
  return features;
}

int SequenceRows::begin(RowBatch& batch, std::int64_t count, std::int64_t fillers, TokenId filler) {
  assert(!txn_ && count > 0 && count <= waiting());
  txn_.emplace(cache_.reserve(count + fillers, count));
  in_flight_ = count;
  return batch.add_chain(*txn_, std::span(tokens_).first(static_cast<std::size_t>(count)), fillers, filler);
}

void SequenceRows::commit() {
  assert(txn_);
  const std::int64_t count = std::exchange(in_flight_, 0);
  txn_->commit_prefix(count);
  txn_.reset();
  newest_ = tokens_[static_cast<std::size_t>(count) - 1];
  features_.drop_first(count - 1);
  newest_features_.clear();
  features_.copy_first(1, newest_features_);
  features_.drop_first(1);
  tokens_.erase(tokens_.begin(), tokens_.begin() + count);
}

void SequenceRows::roll_back() {
  txn_.reset();
  in_flight_ = 0;
}

SequenceRows::Kept SequenceRows::keep(std::int64_t length) const {
  assert(!txn_ && length <= this->length());
  const auto waits = std::max<std::int64_t>(0, length - cache_.length());
  Kept kept{.cache = cache_, .tokens = {tokens_.begin(), tokens_.begin() + waits}, .features = features_};
  kept.features.truncate(waits);
  kept.cache.truncate(std::min(length, cache_.length()));
  return kept;
}

void SequenceRows::resume(const Kept& kept, std::int64_t length) {
  assert(length <= kept.length());
  reset();
  const std::int64_t in_cache = std::min(length, kept.cache.length());
  cache_.share(kept.cache, in_cache);
  const std::int64_t waits = length - in_cache;
  tokens_.assign(kept.tokens.begin(), kept.tokens.begin() + waits);
  features_ = kept.features;
  features_.truncate(waits);
}

void SequenceRows::rewind() {
  assert(!txn_ && tokens_.empty() && cache_.length() > 0);
  cache_.truncate(cache_.length() - 1);
  tokens_.push_back(newest_);
  std::copy(newest_features_.begin(), newest_features_.end(), features_.append());
}

}  // namespace augur
