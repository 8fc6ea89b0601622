#pragma once
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

// Replaces the program's operator new: in one source file of a test program only.

namespace augur::testing_support {

/// What this thread allocates while it lives. One at a time.
class AllocationCount {
 public:
  AllocationCount() { counting_ = this; }
  ~AllocationCount() { counting_ = nullptr; }
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;

  std::int64_t calls() const { return calls_; }
  std::int64_t total_bytes() const { return total_; }
  /// As the heap counts them.
  std::int64_t peak_bytes() const { return peak_; }

  static void* allocate(std::size_t bytes) {
    void* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
    if (memory == nullptr) throw std::bad_alloc();
    if (counting_ != nullptr) {
      ++counting_->calls_;
      counting_->bytes_ += heap_bytes(memory);
      counting_->total_ += heap_bytes(memory);
      counting_->peak_ = std::max(counting_->peak_, counting_->bytes_);
    }
    return memory;
  }
  static void free(void* memory) noexcept {
    if (memory != nullptr && counting_ != nullptr) counting_->bytes_ -= heap_bytes(memory);
    std::free(memory);
  }

 private:
  static std::int64_t heap_bytes(void* memory) {
    return static_cast<std::int64_t>(malloc_usable_size(memory) + sizeof(std::size_t));
  }

  static inline thread_local AllocationCount* counting_ = nullptr;
  std::int64_t calls_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t total_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace augur::testing_support

void* operator new(std::size_t bytes) {
  return augur::testing_support::AllocationCount::allocate(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {  // of the library's sorting, too
  try {
    return augur::testing_support::AllocationCount::allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  augur::testing_support::AllocationCount::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  augur::testing_support::AllocationCount::free(memory);
}
