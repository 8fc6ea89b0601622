#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "kernels/attention.h"
#include "model/kv_page_pool.h"

namespace augur {

class KvTxn;

/// Keys and values of one sequence, all layers. Slots [0, length()) are committed, in logical order. The
/// only way to change it is a KvTxn. One thread at a time. Memory follows use, page by page, all layers in
/// each; caches that begin with the same text can share its pages, and whoever is to write to a shared page
/// writes to a copy of it. A copy of a cache shares all pages. Not to be moved or copied while a KvTxn is
/// open.
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
  explicit KvCache(const Shape& shape) : KvCache(shape, make_pool(shape)) {}
  /// With pages from `pool`, which make_pool() has made for such a shape; the capacity may differ.
  KvCache(const Shape& shape, std::shared_ptr<KvPagePool> pool);
  /// Error for an invalid shape.
  static std::shared_ptr<KvPagePool> make_pool(const Shape& shape);

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return shape_.capacity; }
  const Shape& shape() const { return shape_; }
  /// Slots that can still be reserved.
  std::int64_t room() const { return shape_.capacity - length_; }
  /// Valid until the next reserve(), truncate() or share().
  KvLayerView layer(int index) const;
  /// Pages that it holds, shared ones included.
  std::int64_t pages() const { return std::ssize(pages_); }
  std::span<std::byte* const> page_addresses() const { return table_; }
  const KvPagePool& pool() const { return *pool_; }

  /// Opens a transaction over `rows` new slots after length(). Error when they exceed the capacity (the
  /// context limit); nothing has changed then. At most one transaction is open at a time (asserted).
  KvTxn reserve(std::int64_t rows);

  /// Forgets the slots from `length` on (a drafter falls back). No open KvTxn.
  void truncate(std::int64_t length);

  /// Takes over the first `length` slots of a cache with the same pool, in place of what it has. No open
  /// KvTxn here. Error when they exceed the capacity.
  void share(const KvCache& other, std::int64_t length);

 private:
  friend class KvTxn;
  void make_writable(std::int64_t begin, std::int64_t end);
  void drop_pages(std::int64_t keep);

  Shape shape_;
  std::int64_t length_ = 0;
  bool open_ = false;
  std::shared_ptr<KvPagePool> pool_;
  std::vector<KvPage> pages_;
  std::vector<std::byte*> table_;  ///< of pages_, as the kernels want it
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
