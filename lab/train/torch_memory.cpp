#include "lab/train/torch_memory.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace augur {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Sizes are rounded up to 2^n, 1.25 2^n, 1.5 2^n or 1.75 2^n, so at most a fifth of a block is unused.
struct SizeClass {
  std::size_t index;
  std::size_t bytes;
};
SizeClass size_class(std::size_t bytes) {
  constexpr std::size_t kSmallest = 256;
  if (bytes <= kSmallest) return {0, kSmallest};
  const auto exponent = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^exponent < bytes
  const std::size_t quarter = (std::size_t{1} << exponent) / 4;
  const std::size_t quarters = (bytes + quarter - 1) / quarter;  // 5 to 8
  return {4 * exponent + quarters, quarters * quarter};
}

/// Free blocks by size class. Thread-safe.
class BlockCache {
 public:
  void* take(const SizeClass& size) {
    {
      const std::lock_guard lock(mutex_);
      taken_ += size.bytes;
      std::vector<void*>& blocks = free_[size.index];
      if (!blocks.empty()) {
        void* block = blocks.back();  // the last one given back: likely still in the processor's cache
        blocks.pop_back();
        return block;
      }
    }
    const std::size_t alignment = size.bytes >= kHugePage ? kHugePage : kAlignment;
    void* block = nullptr;
    if (posix_memalign(&block, alignment, size.bytes) != 0) throw std::bad_alloc();
    if (size.bytes >= kHugePage) madvise(block, size.bytes, MADV_HUGEPAGE);  // advice: may be declined
    return block;
  }
  void give(void* block, const SizeClass& size) {
    const std::lock_guard lock(mutex_);
    taken_ -= size.bytes;
    free_[size.index].push_back(block);
  }
  /// Bytes of blocks that are not free.
  std::size_t taken() {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  std::mutex mutex_;
  std::size_t taken_ = 0;
  std::array<std::vector<void*>, std::size_t{4} * 65> free_;
};

// One of a process, as libtorch's allocator is. Never destroyed: tensors in static storage outlive any order.
BlockCache& cache() {
  static auto* blocks = new BlockCache;
  return *blocks;
}

/// In front of the memory of a tensor, which libtorch wants to be its own handle: where the block goes back
/// to.
struct Header {
  SizeClass size;
};
constexpr std::size_t kHeaderBytes = kAlignment;
static_assert(sizeof(Header) <= kHeaderBytes);

/// To a count of tensors (lab/train/tensor_count.h) and libtorch's profilers, as its own allocator tells
/// them.
void report(void* data, std::int64_t bytes) {
  if (!c10::memoryProfilingEnabled()) return;
  c10::reportMemoryUsageToProfiler(data, bytes, static_cast<std::int64_t>(cache().taken()), 0,
                                   c10::Device(c10::DeviceType::CPU));
}

void release(void* data) {
  char* block = static_cast<char*>(data) - kHeaderBytes;
  const SizeClass size = reinterpret_cast<const Header*>(block)->size;
  cache().give(block, size);
  report(data, -static_cast<std::int64_t>(size.bytes));
}

/// Without `override`: which of these the base class has depends on libtorch's version.
class KeepingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, cpu};
    const SizeClass size = size_class(bytes + kHeaderBytes);
    char* block = static_cast<char*>(cache().take(size));
    new (block) Header{size};
    report(block + kHeaderBytes, static_cast<std::int64_t>(size.bytes));
    return {block + kHeaderBytes, block + kHeaderBytes, &release, cpu};
  }
  c10::DataPtr allocate(std::size_t bytes) { return std::as_const(*this).allocate(bytes); }
  c10::DeleterFnPtr raw_deleter() const { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
};

}  // namespace

void keep_tensor_memory() {
  // libtorch's products take their scratch space from malloc: it shall keep large blocks, too.
  constexpr int kGigabyte = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kGigabyte);
  mallopt(M_TRIM_THRESHOLD, kGigabyte);
  mallopt(M_TOP_PAD, kGigabyte / 4);
  // They are also compiled for every shape that comes, and sequences have many lengths: keep them all. oneDNN
  // reads this before its first product; what the user set stays.
  setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16384", 0);
  static auto* allocator = new KeepingAllocator;
  constexpr std::uint8_t kAboveTheDefault = 1;
  c10::SetCPUAllocator(allocator, kAboveTheDefault);
}

}  // namespace augur
