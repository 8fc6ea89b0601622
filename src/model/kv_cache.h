#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/dtype.h"
#include "kernels/attention.h"

namespace augur {

class KvTxn;

/// Keys and values of one sequence, all layers. Slots [0, length()) are committed, in logical order. The
/// only way to change it is a KvTxn. One thread at a time. Memory follows use: it doubles (and the slots in
/// use are copied) when a reservation outgrows it, so that many short sequences fit beside a large capacity.
/// Not to be moved while a KvTxn is open.
class KvCache {
 public:
  struct Shape {
    int layers = 0;
    int kv_heads = 0;
    int head_dim = 0;           ///< multiple of 2
    std::int64_t capacity = 0;  ///< slots
    DType type = DType::BF16;   ///< BF16, F32, or Q8_0 (head_dim a multiple of 32)
  };
  /// Error for an invalid shape.
  explicit KvCache(const Shape& shape);

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return shape_.capacity; }
  const Shape& shape() const { return shape_; }
  /// Slots that can still be reserved.
  std::int64_t room() const { return shape_.capacity - length_; }
  /// Valid until the next reserve().
  KvLayerView layer(int index) const;

  /// Opens a transaction over `rows` new slots after length(). Error when they exceed the capacity (the
  /// context limit); nothing has changed then. At most one transaction is open at a time (asserted).
  KvTxn reserve(std::int64_t rows);

  /// Forgets the slots from `length` on (a prompt prefix is reused, a drafter falls back). No open KvTxn.
  void truncate(std::int64_t length);

 private:
  friend class KvTxn;
  void grow(std::int64_t slots);

  Shape shape_;
  std::int64_t slots_ = 0;  ///< allocated, a multiple of 16
  std::int64_t length_ = 0;
  bool open_ = false;
  PageMemory k_;
  PageMemory v_;
};

/// Slots that a forward pass writes. Destroying an uncommitted transaction rolls it back.
class KvTxn {
 public:
  KvTxn(KvTxn&& other) noexcept;
  KvTxn& operator=(KvTxn&&) = delete;
  ~KvTxn();

  KvCache& cache() const { return *cache_; }
  std::int64_t base() const { return base_; }  ///< first reserved slot = committed length
  std::int64_t rows() const { return rows_; }

  /// Keeps the slots base() + path[0], base() + path[1], ... (path strictly increasing, offsets into the
  /// reserved rows), moves them together behind the prefix, and closes the transaction.
  void commit(std::span<const std::int32_t> path);
  /// Keeps the first `rows` rows, in order.
  void commit_prefix(std::int64_t rows);
  /// Keeps all rows, in order.
  void commit_all() { commit_prefix(rows_); }

 private:
  friend class KvCache;
  KvTxn(KvCache& cache, std::int64_t base, std::int64_t rows) : cache_(&cache), base_(base), rows_(rows) {}
  KvCache* cache_;
  std::int64_t base_;
  std::int64_t rows_;
};

}  // namespace augur
