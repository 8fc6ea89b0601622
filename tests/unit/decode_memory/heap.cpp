#include "heap.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace augur::heap {
namespace {

std::atomic<std::int64_t> count{0};
std::atomic<std::int64_t> failing{0};          ///< number of the call that fails; 0: none
std::atomic<std::int64_t> failing_mapping{0};  ///< calls of mmap until then; 0: none
std::atomic<bool> failed{false};

/// Counts a call. True: it is to fail.
bool refuse() {
  if (++count != failing) return false;
  failed = true;
  return true;
}

/// The same of a call of mmap.
bool refuse_mapping() {
  if (failing_mapping > 0 && --failing_mapping == 0) {
    failed = true;
    return true;
  }
  return refuse();
}

}  // namespace

std::int64_t allocations() {
  return count;
}

void fail_at(std::int64_t n) {
  failed = false;
  failing = n == 0 ? 0 : count + n;
}

void fail_mapping_at(std::int64_t n) {
  failed = false;
  failing_mapping = n;
}

bool has_failed() {
  return failed;
}

}  // namespace augur::heap

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (augur::heap::refuse()) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

extern "C" [[gnu::noinline]] void* mmap(void* address, std::size_t length, int protection, int flags,
                                        int descriptor, off_t offset) noexcept {
  if (augur::heap::refuse_mapping()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, length, protection, flags, descriptor, offset));
}
