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
  std::int64_t page_slots = kKvPageSlots;

  /// Of a page that is there.
  float* row(std::int64_t slot) const {
    return reinterpret_cast<float*>(pages[slot / page_slots] + offset) + slot % page_slots * floats;
  }
};

/// The state of a layer that keeps one: addresses of the cache's memory. A pass makes that of the first
/// `folded` slots that of the first KvTxn::fold_to(), and leaves it in `to`.
struct LayerState {
  const float* from = nullptr;  ///< [Shape::state_floats]; null: of no slots, which is zeros
  float* to = nullptr;          ///< may be `from`; null: there is nothing to fold
  std::int64_t folded = 0;
};

/// The pages of a pool, as far as a text's memory goes.
struct KvSpan {
  std::int64_t page_slots = kKvPageSlots;  ///< 0: a page holds what a text leaves, whatever its length
  std::int64_t window = 0;                 ///< > 0: the last so many slots alone are kept
};

/// What a sequence leaves in all layers: keys and values, or a row (SlotRows) where a layer has no attention,
/// or nothing.
/// Slots [0, length()) are committed, in logical order. New ones come by a KvTxn, or by share() from a cache
/// that has them; truncate() drops some. One thread at a time. Memory follows use, page by page; caches that
/// begin with the same text can share its pages, and whoever is to write to a shared page writes to a copy of
/// it. A copy of a cache shares all pages. Not to be moved or copied while a KvTxn is open.
///
/// Layers that see a sliding window have pages of their own, which are given back a page behind the last one
/// that a next token sees: they hold the window, the rows in flight, and two pages at most beside them.
///
/// A layer with a recurrence has a state (LayerState) that stands for the first slots of the text, the folded
/// ones, and a record of every slot behind these: what a token has done to the state, so that doing it once
/// more gives the same bits. A pass folds the records of all committed slots into the state, and leaves
/// records of its rows. So rolling rows back, and choosing a path among them, costs what it costs anywhere;
/// but a text cannot be cut before what is folded, and one slot always is not:
///
///     slots    0 ......... folded ....... length ........... length + rows in flight
///            in the state |   records    |     records      |
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
    /// [layers] 1: the layer is a feed-forward alone and keeps nothing. Empty: none is.
    std::vector<std::uint8_t> keeps_nothing = {};
    /// [layers] float32 of the layer's state, and of a record; 0: it keeps slots alone. Empty: all do.
    std::vector<std::int32_t> state_floats = {}, record_floats = {};
  };
  /// Where pages come from; null where there are no layers of the kind.
  struct Pools {
    std::shared_ptr<KvPagePool> whole;     ///< of layers that see everything
    std::shared_ptr<KvPagePool> windowed;  ///< of the others
    std::shared_ptr<KvPagePool> states;    ///< a page is the state of all layers
    std::shared_ptr<KvPagePool> records;
  };
  /// Of a page of records, which are large.
  static constexpr std::int64_t kRecordSlots = 8;
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
  DeviceMemory& memory() const {
    return (whole_.pool() ? whole_ : windowed_.pool() ? windowed_ : records_).pool()->memory();
  }
  /// Where a layer's slots lie, for those that may follow addresses of memory(). Valid until the next
  /// reserve(), truncate() or share().
  KvLayerView layer(int index) const;
  /// Likewise of a layer that keeps rows.
  SlotRows rows(int index) const;
  bool keeps_rows(int index) const { return floats(shape_.row_floats, index) > 0; }
  /// Likewise of a layer that keeps a state.
  LayerState state(int index) const;
  SlotRows records(int index) const;
  bool keeps_nothing(int index) const { return keeps_nothing(shape_, index); }
  bool keeps_state(int index) const { return floats(shape_.state_floats, index) > 0; }
  bool keeps_states() const { return states_.pool() != nullptr; }
  /// Slots whose keys and values take as much memory as all layers' states.
  std::int64_t state_slots() const;
  /// Slots that are in the states of all layers: a text cannot be cut before them.
  std::int64_t folded() const { return *std::max_element(folded_.begin(), folded_.end()); }
  /// Calls call(address, bytes) for every page that it holds, shared ones included: addresses of memory().
  template <class Call>
  void for_pages(const Call& call) const {
    for (const KvPages* pages : {&whole_, &windowed_, &states_, &records_}) {
      for (std::byte* const page : pages->table()) {
        if (page != nullptr) call(page, pages->pool()->page_bytes());
      }
    }
  }
  /// Calls call(pool, KvSpan) for every pool that it takes pages from.
  template <class Call>
  void for_pools(const Call& call) const {
    if (whole_.pool()) call(*whole_.pool(), KvSpan());
    if (windowed_.pool()) call(*windowed_.pool(), KvSpan{.window = shape_.window});
    if (states_.pool()) call(*states_.pool(), KvSpan{.page_slots = 0});
    if (records_.pool()) call(*records_.pool(), KvSpan{.page_slots = kRecordSlots, .window = 1});
  }
  /// Of a page of every kind: what 64 slots take before any is given back.
  std::int64_t page_bytes() const;

  /// Whether the first `length` slots alone can be gone on with: what a token behind them sees is there. Of a
  /// longer text that sees a window it is not, unless it ends within a page of them.
  bool holds(std::int64_t length) const;
  /// Gives back all that a token behind the last slot does not see, but for whole pages.
  void give_back_unseen() { windowed_.give_back_before(first_seen(length_) / kKvPageSlots); }

  /// Opens a transaction over `rows` new slots after length(). Error when they exceed the capacity (the
  /// context limit); nothing has changed then. At most one transaction is open at a time (asserted). The
  /// first `certain` of them follow one another, and will be committed if anything is (a prompt's rows):
  /// states take them in at once, but for the last, and no records are kept of them.
  KvTxn reserve(std::int64_t rows, std::int64_t certain = 0);

  /// Forgets the slots from `length` on (a drafter falls back), which must be 0 or such that it holds() them.
  /// No open KvTxn.
  void truncate(std::int64_t length);

  /// How far each layer's state goes; 0 where it keeps none. [layers], or one 0
  std::span<const std::int64_t> folded_by_layer() const { return folded_; }
  /// The first slot, of `length`, that is not in the state of every layer that keeps one: from it on records
  /// are read. `folded`: as folded_by_layer() has it.
  std::int64_t first_unfolded(std::int64_t length, std::span<const std::int64_t> folded) const;
  /// Becomes a text of `length` slots whose pages are there, and still to be written: those of which a next
  /// token sees something. `folded`: as folded_by_layer() has it, none beyond `length`. Empty before.
  void lay_out(std::int64_t length, std::span<const std::int64_t> folded);
  /// The pages that a next token would write to are nobody else's.
  void own_last_pages();

  /// Takes over the first `length` slots of a cache with the same pools that holds() them, in place of what
  /// it has. No open KvTxn here. Error when they exceed the capacity.
  void share(const KvCache& other, std::int64_t length);

 private:
  friend class KvTxn;
  static std::int32_t floats(const std::vector<std::int32_t>& of_layers, int index) {
    return of_layers.empty() ? 0 : of_layers[static_cast<std::size_t>(index)];
  }
  void prepare_states(std::int64_t fold_to, Range records);
  void take_next_states();
  static bool windowed(const Shape& shape, int index) {
    return !shape.windowed.empty() && shape.windowed[static_cast<std::size_t>(index)] == 1;
  }
  static bool keeps_nothing(const Shape& shape, int index) {
    return !shape.keeps_nothing.empty() && shape.keeps_nothing[static_cast<std::size_t>(index)] == 1;
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
  KvPages whole_, windowed_, states_, records_;
  std::vector<std::int64_t> state_offset_, record_offset_;  ///< [layers] of a page, in bytes
  std::vector<std::int64_t> folded_ = {0};                  ///< [layers] where some keep a state
  // In a transaction: what it makes of states that are shared, or that it may have to leave as they are.
  KvPage next_states_;
  std::vector<std::int64_t> next_folded_;  ///< [layers] -1: not yet
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
  std::int64_t certain() const { return certain_; }  ///< of them, as reserve() has it
  /// Slots that states stand for after a pass over the rows: of those that are committed, and of those that
  /// certainly will be, all but the last.
  std::int64_t fold_to() const { return std::max<std::int64_t>(0, base_ + certain_ - 1); }
  /// The first slot of which the rows' pass leaves a record.
  std::int64_t first_record() const { return std::max(base_, fold_to()); }
  /// A pass over layers [first, last) has folded what there was to fold.
  void set_folded(int first, int last);

  /// Keeps the slots base() + path[0], base() + path[1], ... (path strictly increasing, offsets into the
  /// reserved rows), moves them together behind the prefix, and closes the transaction.
  void commit(std::span<const std::int32_t> path);
  /// Keeps the first `rows` rows, in order.
  void commit_prefix(std::int64_t rows);
  /// Keeps all rows, in order.
  void commit_all() { commit_prefix(rows_); }

 private:
  friend class KvCache;
  KvTxn(KvCache& cache, std::int64_t base, std::int64_t rows, std::int64_t certain)
      : cache_(&cache), base_(base), rows_(rows), certain_(certain) {}
  void close(std::int64_t rows);
  KvCache* cache_;
  std::int64_t base_;
  std::int64_t rows_;
  std::int64_t certain_;
};

}  // namespace augur
