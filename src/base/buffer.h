#pragma once
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace augur {

/// Owned, zero-initialised memory straight from the operating system: page-aligned, backed by huge pages
/// where the kernel grants them, committed page by page on first touch (so a large capacity that is never
/// used costs address space only). Not for small objects. Throws Error when the system refuses.
class PageMemory {
 public:
  PageMemory() = default;
  explicit PageMemory(std::size_t bytes);
  ~PageMemory();
  PageMemory(PageMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PageMemory& operator=(PageMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A typed array in PageMemory.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : memory_(count * sizeof(T)), count_(count) {}

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) const { return data()[i]; }
  std::span<T> span() const { return {data(), count_}; }

 private:
  PageMemory memory_;
  std::size_t count_ = 0;
};

}  // namespace augur
