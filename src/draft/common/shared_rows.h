#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "draft/common/row_pool.h"

namespace augur {

/// Rows of floats that wait in the order in which they came, in blocks that copies share: a copy is one of a
/// list. A block that is shared is copied before it is appended to. One thread at a time; a copy may be
/// another's.
class SharedRows {
 public:
  SharedRows() = default;  ///< rows of no floats
  /// Rows of `pool`; null: of no floats.
  explicit SharedRows(std::shared_ptr<RowPool> pool) : pool_(std::move(pool)) {}
  SharedRows(const SharedRows& other)
      : pool_(other.pool_), rows_(other.rows_), dropped_(other.dropped_), blocks_(other.blocks_) {}
  SharedRows(SharedRows&&) noexcept = default;
  SharedRows& operator=(const SharedRows& other) { return *this = SharedRows(other); }
  SharedRows& operator=(SharedRows&&) noexcept = default;
  ~SharedRows() = default;

  const std::shared_ptr<RowPool>& pool() const { return pool_; }
  std::size_t width() const { return pool_ == nullptr ? 0 : static_cast<std::size_t>(pool_->width()); }
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
    for (const RowBlock& block : blocks_) {
      call(reinterpret_cast<const std::byte*>(block.data()), pool_->block_bytes());
    }
  }

 private:
  RowBlock take_block();
  RowBlock copy_of(const RowBlock& block, std::int64_t rows) const;
  void give_back(RowBlock block);

  std::shared_ptr<RowPool> pool_;
  std::int64_t rows_ = 0;
  std::int64_t dropped_ = 0;  ///< rows of the first block that are gone
  std::vector<RowBlock> blocks_;
  RowBlock spare_;  ///< so that rows which come and go need no allocation; not copied
};

}  // namespace augur
