#include "draft/common/shared_rows.h"

#include <algorithm>
#include <cassert>

namespace augur {
namespace {

constexpr std::int64_t kBlock = RowPool::kBlockRows;

}  // namespace

RowBlock SharedRows::take_block() {
  if (spare_) return std::exchange(spare_, {});
  return pool_->take();
}

RowBlock SharedRows::copy_of(const RowBlock& block, std::int64_t rows) const {
  RowBlock copy = pool_->take();
  std::copy_n(block.data(), rows * pool_->width(), copy.data());
  return copy;
}

void SharedRows::give_back(RowBlock block) {
  if (!block.shared()) spare_ = std::move(block);
}

float* SharedRows::append() {
  if (pool_ == nullptr) {
    ++rows_;
    return nullptr;
  }
  const std::int64_t place = dropped_ + rows_;
  const std::int64_t in_block = place % kBlock;
  const auto index = static_cast<std::size_t>(place / kBlock);
  if (index == blocks_.size()) {
    blocks_.push_back(take_block());
  } else if (blocks_[index].shared()) {
    blocks_[index] = copy_of(blocks_[index], in_block);
  }
  ++rows_;
  return blocks_[index].data() + in_block * pool_->width();
}

void SharedRows::copy_first(std::int64_t count, std::vector<float>& to) const {
  assert(count <= rows_);
  if (pool_ == nullptr) return;
  const std::int64_t width = pool_->width();
  for (std::int64_t place = dropped_; place < dropped_ + count;) {
    const std::int64_t in_block = place % kBlock;
    const std::int64_t rows = std::min(kBlock - in_block, dropped_ + count - place);
    const float* const from = blocks_[static_cast<std::size_t>(place / kBlock)].data() + in_block * width;
    to.insert(to.end(), from, from + rows * width);
    place += rows;
  }
}

void SharedRows::drop_first(std::int64_t count) {
  assert(count <= rows_);
  if (count == rows_) return clear();
  rows_ -= count;
  if (pool_ == nullptr) return;
  dropped_ += count;
  const std::int64_t gone = dropped_ / kBlock;
  for (std::int64_t i = 0; i < gone; ++i) give_back(std::move(blocks_[static_cast<std::size_t>(i)]));
  blocks_.erase(blocks_.begin(), blocks_.begin() + gone);
  dropped_ -= gone * kBlock;
}

void SharedRows::truncate(std::int64_t count) {
  assert(count <= rows_);
  if (count == 0) return clear();
  rows_ = count;
  if (pool_ != nullptr) blocks_.resize(static_cast<std::size_t>((dropped_ + count + kBlock - 1) / kBlock));
}

void SharedRows::clear() {
  rows_ = 0;
  dropped_ = 0;
  for (RowBlock& block : blocks_) give_back(std::move(block));
  blocks_.clear();
}

}  // namespace augur
