#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/device_memory.h"

namespace augur {

class KvPage;

/// Memory of a device for the pages of caches of one shape. It is taken in pieces of several pages, and kept
/// for later pages. Outlives its pages. Thread-safe.
class KvPagePool {
 public:
  KvPagePool(std::int64_t page_bytes, std::shared_ptr<DeviceMemory> memory);
  KvPagePool(const KvPagePool&) = delete;
  KvPagePool& operator=(const KvPagePool&) = delete;

  std::int64_t page_bytes() const { return page_bytes_; }
  DeviceMemory& memory() const { return *memory_; }
  /// What lies in it is not said. OutOfMemory when the device has none.
  KvPage take();
  /// Pages that somebody holds, each once.
  std::int64_t pages_in_use() const { return in_use_.load(std::memory_order_relaxed); }

 private:
  friend class KvPage;
  struct Entry {
    KvPagePool* pool = nullptr;
    std::byte* data = nullptr;
    std::atomic<std::int32_t> holders = 0;
  };
  struct Piece {
    std::shared_ptr<std::byte> memory;
    std::unique_ptr<Entry[]> entries;
  };
  void add_pages();
  void give_back(Entry* entry);

  const std::int64_t page_bytes_;
  const std::shared_ptr<DeviceMemory> memory_;
  std::mutex mutex_;
  std::vector<Piece> pieces_;
  std::vector<Entry*> free_;  ///< has room for all pages: giving back does not allocate
  std::atomic<std::int64_t> in_use_ = 0;
};

/// A hold on one page, which copies share. The page goes back to its pool with the last of them.
class KvPage {
 public:
  KvPage() = default;
  KvPage(const KvPage& other) : entry_(other.entry_) {
    if (entry_ != nullptr) entry_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  KvPage(KvPage&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  KvPage& operator=(KvPage other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~KvPage();

  explicit operator bool() const { return entry_ != nullptr; }
  /// Its address in the device's memory.
  std::byte* data() const { return entry_->data; }
  /// Others hold it, too: it must not be written to.
  bool shared() const { return entry_->holders.load(std::memory_order_acquire) > 1; }

 private:
  friend class KvPagePool;
  explicit KvPage(KvPagePool::Entry* entry) : entry_(entry) {}
  KvPagePool::Entry* entry_ = nullptr;
};

}  // namespace augur
