#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace augur {

/// Rows of floats that wait in the order in which they came, in blocks that copies share: a copy is one of a
/// list. A block that is shared is copied before it is appended to. One thread at a time, copies included.
class SharedRows {
 public:
  static constexpr std::int64_t kBlock = 64;  ///< rows

  /// `width`: floats of a row; may be 0.
  explicit SharedRows(std::size_t width) : width_(width) {}

  std::size_t width() const { return width_; }
  std::int64_t rows() const { return rows_; }
  /// Another row. Returns its floats, to be filled [width]; valid until the next call.
  float* append();
  /// Appends the first `count` rows to `to`. [count, width]
  void copy_first(std::int64_t count, std::vector<float>& to) const;
  void drop_first(std::int64_t count);
  /// The first `count` rows stay.
  void truncate(std::int64_t count);
  void clear();

  /// Calls call(block, bytes) for every block: the same pointer in all that share it.
  template <class Call>
  void for_blocks(const Call& call) const {
    for (const auto& block : blocks_) {
      call(reinterpret_cast<const std::byte*>(block.get()), block_bytes());
    }
  }

 private:
  using Block = std::vector<float>;

  std::int64_t block_bytes() const {
    return kBlock * static_cast<std::int64_t>(width_) * static_cast<std::int64_t>(sizeof(float));
  }
  std::shared_ptr<Block> take_block();
  void give_back(std::shared_ptr<Block> block);

  std::size_t width_;
  std::int64_t rows_ = 0;
  std::int64_t dropped_ = 0;  ///< rows of the first block that are gone
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Block> spare_;  ///< so that rows which come and go need no allocation
};

}  // namespace augur
