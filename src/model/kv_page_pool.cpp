#include "model/kv_page_pool.h"

#include <algorithm>
#include <cassert>

namespace augur {

KvPagePool::KvPagePool(std::int64_t page_bytes) : page_bytes_(page_bytes) {
  assert(page_bytes > 0 && page_bytes % 64 == 0);
}

KvPage KvPagePool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) add_pages();
  Entry* const entry = free_.back();
  free_.pop_back();
  entry->holders.store(1, std::memory_order_relaxed);
  in_use_.fetch_add(1, std::memory_order_relaxed);
  return KvPage(entry);
}

void KvPagePool::add_pages() {
  constexpr std::int64_t kPiece = std::int64_t{8} << 20;  // a few huge pages
  const std::int64_t count = std::max<std::int64_t>(1, kPiece / page_bytes_);
  PageMemory piece(static_cast<std::size_t>(count * page_bytes_));
  memory_.reserve(memory_.size() + 1);
  free_.reserve(entries_.size() + static_cast<std::size_t>(count));  // give_back() does not allocate
  for (std::int64_t i = count - 1; i >= 0; --i) {
    free_.push_back(&entries_.emplace_back(this, piece.data() + i * page_bytes_));
  }
  memory_.push_back(std::move(piece));
}

void KvPagePool::give_back(Entry* entry) {
  const std::lock_guard lock(mutex_);
  free_.push_back(entry);
  in_use_.fetch_sub(1, std::memory_order_relaxed);
}

KvPage::~KvPage() {
  if (entry_ != nullptr && entry_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    entry_->pool->give_back(entry_);
  }
}

}  // namespace augur
