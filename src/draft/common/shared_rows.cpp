#include "draft/common/shared_rows.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace augur {

std::shared_ptr<SharedRows::Block> SharedRows::take_block() {
  if (spare_ != nullptr && spare_.use_count() == 1) return std::exchange(spare_, nullptr);
  return std::make_shared<Block>(static_cast<std::size_t>(kBlock) * width_);
}

void SharedRows::give_back(std::shared_ptr<Block> block) {
  if (block.use_count() == 1) spare_ = std::move(block);
}

float* SharedRows::append() {
  if (width_ == 0) {
    ++rows_;
    return nullptr;
  }
  const std::int64_t place = dropped_ + rows_;
  const auto index = static_cast<std::size_t>(place / kBlock);
  if (index == blocks_.size()) {
    blocks_.push_back(take_block());
  } else if (blocks_[index].use_count() > 1) {
    blocks_[index] = std::make_shared<Block>(*blocks_[index]);
  }
  ++rows_;
  return blocks_[index]->data() + static_cast<std::size_t>(place % kBlock) * width_;
}

void SharedRows::copy_first(std::int64_t count, std::vector<float>& to) const {
  assert(count <= rows_);
  if (width_ == 0) return;
  for (std::int64_t place = dropped_; place < dropped_ + count;) {
    const std::int64_t in_block = place % kBlock;
    const std::int64_t rows = std::min(kBlock - in_block, dropped_ + count - place);
    const auto from = blocks_[static_cast<std::size_t>(place / kBlock)]->begin() +
                      in_block * static_cast<std::ptrdiff_t>(width_);
    to.insert(to.end(), from, from + rows * static_cast<std::ptrdiff_t>(width_));
    place += rows;
  }
}

void SharedRows::drop_first(std::int64_t count) {
  assert(count <= rows_);
  if (count == rows_) return clear();
  rows_ -= count;
  if (width_ == 0) return;
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
  if (width_ > 0) blocks_.resize(static_cast<std::size_t>((dropped_ + count + kBlock - 1) / kBlock));
}

void SharedRows::clear() {
  rows_ = 0;
  dropped_ = 0;
  for (std::shared_ptr<Block>& block : blocks_) give_back(std::move(block));
  blocks_.clear();
}

}  // namespace augur
