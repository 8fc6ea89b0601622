#include "base/buffer.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace augur {

namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}

PageMemory::PageMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  // Large areas start on a huge-page boundary: map one huge page more, then give the ends back.
  const std::size_t slack = bytes >= kHugePage ? kHugePage : 0;
  if (bytes > SIZE_MAX - 2 * kHugePage)
    throw Error(ErrorKind::OutOfMemory, "cannot reserve {} bytes of memory", bytes);
  const std::size_t page = 4096;
  const std::size_t length = (bytes + page - 1) / page * page;
  void* base = mmap(nullptr, length + slack, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    throw Error(ErrorKind::OutOfMemory, "cannot reserve {} bytes of memory: {}", bytes, std::strerror(errno));
  auto* first = static_cast<std::byte*>(base);
  if (slack != 0) {
    const auto misaligned = reinterpret_cast<std::uintptr_t>(first) % kHugePage;
    const std::size_t skip = misaligned == 0 ? 0 : kHugePage - misaligned;
    if (skip != 0) munmap(first, skip);
    if (skip != slack) munmap(first + skip + length, slack - skip);
    first += skip;
    madvise(first, length, MADV_HUGEPAGE);
  }
  data_ = first;
}

PageMemory::~PageMemory() {
  if (data_ != nullptr) munmap(data_, (bytes_ + 4095) / 4096 * 4096);
}

}  // namespace augur
