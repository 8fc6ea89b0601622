#include "model/kv_page_pool.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"

namespace augur {
namespace {

/// Whoever reads the error knows what the memory was for.
std::shared_ptr<std::byte> memory_of_pages(DeviceMemory& memory, std::size_t bytes) {
  try {
    return memory.allocate(bytes);
  } catch (const Error& error) {
    throw Error(error.cause(), "keys and values of more tokens: {}", error.what());
  }
}

}  // namespace

KvPagePool::KvPagePool(std::int64_t page_bytes, std::shared_ptr<DeviceMemory> memory)
    : page_bytes_(page_bytes), memory_(std::move(memory)) {
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

/// All memory is there before anything is changed.
void KvPagePool::add_pages() {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  constexpr std::size_t kPieceBytes = 16 * kHugePage;
  const auto bytes = static_cast<std::size_t>(page_bytes_);
  const std::size_t count = std::max<std::size_t>(1, kPieceBytes / bytes);
  const std::size_t whole = (count * bytes + kHugePage - 1) / kHugePage * kHugePage;  // the last one, too
  Piece piece{.memory = memory_of_pages(*memory_, whole), .entries = std::make_unique<Entry[]>(count)};
  free_.reserve((pieces_.size() + 1) * count);
  pieces_.push_back(std::move(piece));
  for (std::size_t i = count; i-- > 0;) {
    Entry& entry = pieces_.back().entries[i];
    entry.pool = this;
    entry.data = pieces_.back().memory.get() + i * bytes;
    free_.push_back(&entry);
  }
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
