#include "draft/common/row_pool.h"

#include <cassert>
#include <cstddef>
#include <vector>

namespace augur {

struct RowPool::Entry {
  RowPool& pool;
  std::atomic<std::int32_t> holders = 1;
  std::vector<float> rows;
};

RowPool::RowPool(std::int64_t width) : width_(width) {
  assert(width > 0);
}

RowBlock RowPool::take() {
  const auto floats = static_cast<std::size_t>(kBlockRows * width_);
  auto* const entry = new Entry{.pool = *this, .rows = std::vector<float>(floats)};
  bytes_in_use_.fetch_add(block_bytes(), std::memory_order_relaxed);
  return RowBlock(entry);
}

void RowPool::give_back(Entry* entry) {
  bytes_in_use_.fetch_sub(block_bytes(), std::memory_order_relaxed);
  delete entry;
}

RowBlock::RowBlock(const RowBlock& other) : entry_(other.entry_) {
  if (entry_ != nullptr) entry_->holders.fetch_add(1, std::memory_order_relaxed);
}

RowBlock::~RowBlock() {
  if (entry_ != nullptr && entry_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    entry_->pool.give_back(entry_);
  }
}

float* RowBlock::data() const {
  return entry_->rows.data();
}

bool RowBlock::shared() const {
  return entry_->holders.load(std::memory_order_acquire) > 1;
}

}  // namespace augur
