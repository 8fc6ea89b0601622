#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "kernels/attention.h"
#include "model/kv_pages.h"

namespace augur {

class KvTxn;

/// Rows of float32, one a slot, that a layer keeps in place of keys and values: addresses of the cache's
/// memory.
struct SlotRows {
  std::byte* const* pages = nullptr;  ///< [page_count] null where one was given back
  std::int64_t page_count = 0;
  std::int64_t offset = 0;  ///< bytes from a page's beginning
  std::int64_t floats = 0;  ///< of a row

  /// Of a page that is there.
  float* row(std::int64_t slot) const {
    return reinterpret_cast<float*>(pages[slot / kKvPageSlots] + offset) + slot % kKvPageSlots * floats;
  }
};

/// What a sequence leaves in all layers: keys and values, or a row (SlotRows) where a layer has no attention.
/// Slots [0, length()) are committed, in logical order. New ones come by a KvTxn, or by share() from a cache
/// that has them; truncate() drops some. One thread at a time. Memory follows use, page by page; caches that
/// begin with the same text can share its pages, and whoever is to write to a shared page writes to a copy of
/// it. A copy of a cache shares all pages. Not to be moved or copied while a KvTxn is open.
///
/// Layers that see a sliding window have pages of their own, which are given back a page behind the last one
/// that a next token sees: they hold the window, the rows in flight, and two pages at most beside them.
class KvCache {
 public:
  struct Shape {
    int layers = 0;
    int kv_heads = 0;
    int head_dim = 0;           ///< multiple of 2
    std::int64_t capacity = 0;  ///< slots
    DType type = DType::BF16;   ///< BF16, F32, or Q8_0 (head_dim a multiple of 32)
    /// [layers] 1: the layer sees the last `window` slots only; empty: none does.
    std::vector<std::uint8_t> windowed = {};
    /// [layers] float32 of a slot's row in a layer that keeps rows, which is one with a window; 0: the layer
    /// keeps keys and values. Empty: all do.
    std::vector<std::int32_t> row_floats = {};
    std::int64_t window = 0;  ///< the largest of them; 0: all layers see everything
  };
  /// Where pages come from; null where there are no layers of the kind.
  struct Pools {
    std::shared_ptr<KvPagePool> whole;     ///< of layers that see everything
    std::shared_ptr<KvPagePool> windowed;  ///< of the others
  };
  /// Error for an invalid shape.
  explicit KvCache(const Shape& shape) : KvCache(shape, make_pools(shape)) {}
  /// With pages from `pools`, which make_pools() has made for such a shape; the capacity may differ.
  KvCache(const Shape& shape, const Pools& pools);
  /// Error for an invalid shape. `memory`: where the pages lie; null: the host's.
  static Pools make_pools(const Shape& shape, std::shared_ptr<DeviceMemory> memory = nullptr);

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return shape_.capacity; }
  const Shape& shape() const { return shape_; }
  /// Slots that can still be reserved.
  std::int64_t room() const { return shape_.capacity - length_; }
  /// Where its pages lie.
  DeviceMemory& memory() const { return (whole_.pool() ? whole_ : windowed_).pool()->memory(); }
  /// Where a layer's slots lie, for those that may follow addresses of memory(). Valid until the next
  /// reserve(), truncate() or share().
  KvLayerView layer(int index) const;
  /// Likewise of a layer that keeps rows.
  SlotRows rows(int index) const;
  bool keeps_rows(int index) const { return row_floats(shape_, index) > 0; }
  /// Calls call(address, bytes) for every page that it holds, shared ones included: addresses of memory().
  template <class Call>
  void for_pages(const Call& call) const {
    for (const KvPages* pages : {&whole_, &windowed_}) {
      for (std::byte* const page : pages->table()) {
        if (page != nullptr) call(page, pages->pool()->page_bytes());
      }
    }
  }
  /// Calls call(pool, window) for every pool that it takes pages from; window 0: they are kept.
  template <class Call>
  void for_pools(const Call& call) const {
    if (whole_.pool()) call(*whole_.pool(), std::int64_t{0});
    if (windowed_.pool()) call(*windowed_.pool(), shape_.window);
  }
  /// Of a page of every kind: what 64 slots take before any is given back.
  std::int64_t page_bytes() const;

  /// Whether the first `length` slots alone can be gone on with: what a token behind them sees is there. Of a
  /// longer text that sees a window it is not, unless it ends within a page of them.
  bool holds(std::int64_t length) const;
  /// Gives back all that a token behind the last slot does not see, but for whole pages.
  void give_back_unseen() { windowed_.give_back_before(first_seen(length_) / kKvPageSlots); }

  /// Opens a transaction over `rows` new slots after length(). Error when they exceed the capacity (the
  /// context limit); nothing has changed then. At most one transaction is open at a time (asserted).
  KvTxn reserve(std::int64_t rows);

  /// Forgets the slots from `length` on (a drafter falls back), which must be 0 or such that it holds() them.
  /// No open KvTxn.
  void truncate(std::int64_t length);

  /// Takes over the first `length` slots of a cache with the same pools that holds() them, in place of what
  /// it has. No open KvTxn here. Error when they exceed the capacity.
  void share(const KvCache& other, std::int64_t length);

 private:
  friend class KvTxn;
  static std::int32_t row_floats(const Shape& shape, int index) {
    return shape.row_floats.empty() ? 0 : shape.row_floats[static_cast<std::size_t>(index)];
  }
  static bool windowed(const Shape& shape, int index) {
    return !shape.windowed.empty() && shape.windowed[static_cast<std::size_t>(index)] == 1;
  }
  /// Of a page, by whether the layer has a window.
  static std::int64_t layer_bytes(const Shape& shape, int index);
  static std::int64_t page_bytes(const Shape& shape, bool windowed);
  const KvPages& pages_of(int index) const { return windowed(shape_, index) ? windowed_ : whole_; }
  /// The first slot that a token behind `length` of them sees in a windowed layer.
  std::int64_t first_seen(std::int64_t length) const {
    return std::max<std::int64_t>(0, length + 1 - shape_.window);
  }
  void set_length(std::int64_t length);

  Shape shape_;
  std::vector<std::int64_t> offset_;  ///< [layers] of a page, in bytes
  std::int64_t length_ = 0;
  bool open_ = false;
  KvPages whole_, windowed_;
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
