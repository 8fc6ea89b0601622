#pragma once
#include <cstddef>
#include <memory>

#include "base/buffer.h"

namespace augur {

/// Memory for many packed matrices side by side. A matrix by itself gets huge pages only for its whole
/// multiples of 2 MiB, which small models hardly have; side by side nearly all of them do. What is handed out
/// keeps its area alive. One thread at a time.
class WeightArena {
 public:
  /// `bytes` of zeroed memory, page-aligned. Throws Error when the system refuses.
  std::shared_ptr<std::byte> take(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kArea = std::size_t{1} << 30;  // address space; what is not touched takes no memory
    if (area_ == nullptr || bytes > area_->size() - used_) {
      area_ = std::make_shared<PageMemory>(bytes > kArea ? bytes : kArea);
      used_ = 0;
    }
    std::shared_ptr<std::byte> result(area_, area_->data() + used_);
    used_ += bytes + (kPage - bytes % kPage) % kPage;
    if (used_ > area_->size()) used_ = area_->size();
    return result;
  }

 private:
  std::shared_ptr<PageMemory> area_;
  std::size_t used_ = 0;
};

}  // namespace augur
