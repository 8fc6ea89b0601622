#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace augur {

class RowBlock;

/// Memory for the rows of floats that wait for one drafter's forwards, of all texts, in blocks of several
/// rows. Outlives its blocks. Thread-safe.
class RowPool {
 public:
  static constexpr std::int64_t kBlockRows = 64;

  /// `width`: floats of a row, at least 1.
  explicit RowPool(std::int64_t width);
  RowPool(const RowPool&) = delete;
  RowPool& operator=(const RowPool&) = delete;

  std::int64_t width() const { return width_; }
  std::int64_t row_bytes() const { return width_ * static_cast<std::int64_t>(sizeof(float)); }
  std::int64_t block_bytes() const { return kBlockRows * row_bytes(); }
  /// Of zeros.
  RowBlock take();
  /// Of blocks that somebody holds, each once.
  std::int64_t bytes_in_use() const { return bytes_in_use_.load(std::memory_order_relaxed); }

 private:
  friend class RowBlock;
  struct Entry;
  void give_back(Entry* entry);

  const std::int64_t width_;
  std::atomic<std::int64_t> bytes_in_use_ = 0;
};

/// A hold on one block, which copies share, each on a thread of its own where need be. The block goes with
/// the last of them.
class RowBlock {
 public:
  RowBlock() = default;
  RowBlock(const RowBlock& other);
  RowBlock(RowBlock&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  RowBlock& operator=(RowBlock other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~RowBlock();

  explicit operator bool() const { return entry_ != nullptr; }
  float* data() const;
  /// Others hold it, too: it must not be written to.
  bool shared() const;

 private:
  friend class RowPool;
  explicit RowBlock(RowPool::Entry* entry) : entry_(entry) {}
  RowPool::Entry* entry_ = nullptr;
};

}  // namespace augur
