#include "model/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

#include "base/error.h"

namespace augur {

namespace {

constexpr std::int64_t kMaxCapacity = std::int64_t{1} << 30;
constexpr std::int64_t kMaxPageBytes = std::int64_t{1} << 36;
constexpr std::int32_t kMaxRowFloats = 1 << 20;
constexpr std::int32_t kMaxStateFloats = 1 << 28;

std::int64_t pages_for(std::int64_t slots, std::int64_t page_slots = kKvPageSlots) {
  return (slots + page_slots - 1) / page_slots;
}

constexpr std::int64_t kFloatBytes = sizeof(float);
/// Rows of float32 begin at multiples of it.
constexpr std::int64_t kRowGrain = 16;

std::int64_t rounded(std::int64_t floats) {
  return (floats + kRowGrain - 1) / kRowGrain * kRowGrain;
}

/// Of K (and of V) of one layer of a page.
std::int64_t keys_bytes(const KvCache::Shape& shape) {
  return kKvPageSlots * shape.kv_heads * kv_slot_bytes(shape.type, shape.head_dim);
}

void check(const KvCache::Shape& shape) {
  if (shape.type != DType::BF16 && shape.type != DType::F32 && shape.type != DType::Q8_0) {
    throw Error(ErrorKind::Unsupported, "KV cache: {} is not supported (BF16, F32 or Q8_0)",
                name(shape.type));
  }
  constexpr int kMaxCount = 1 << 16;  // of layers, heads, dimensions: products stay inside 63 bits
  const auto plausible = [](int count) { return count >= 1 && count <= kMaxCount; };
  const bool valid = plausible(shape.layers) && plausible(shape.kv_heads) && plausible(shape.head_dim) &&
                     shape.head_dim % 2 == 0 && shape.capacity >= 1 && shape.capacity <= kMaxCapacity;
  if (!valid || keys_bytes(shape) > kMaxPageBytes / shape.layers) {
    throw Error(ErrorKind::Internal,
                "KV cache: {} layers of {} heads of {} for {} tokens is not a valid size", shape.layers,
                shape.kv_heads, shape.head_dim, shape.capacity);
  }
  const bool windows =
      std::any_of(shape.windowed.begin(), shape.windowed.end(), [](auto w) { return w != 0; });
  if ((!shape.windowed.empty() && std::ssize(shape.windowed) != shape.layers) || shape.window < 0 ||
      windows != (shape.window > 0)) {
    throw Error(ErrorKind::Internal, "KV cache: a window of {} over {} of {} layers", shape.window,
                shape.windowed.size(), shape.layers);
  }
  for (std::size_t i = 0; i < shape.row_floats.size(); ++i) {
    const bool fits = std::ssize(shape.row_floats) == shape.layers && shape.row_floats[i] >= 0 &&
                      shape.row_floats[i] <= kMaxRowFloats;
    if (!fits || (shape.row_floats[i] > 0 && (shape.windowed.empty() || shape.windowed[i] == 0)))
      throw Error(ErrorKind::Internal, "KV cache: rows of {} numbers in layer {} of {}", shape.row_floats[i],
                  i, shape.layers);
  }
  for (std::size_t i = 0; i < shape.keeps_nothing.size(); ++i) {
    const bool listed = std::ssize(shape.keeps_nothing) == shape.layers;
    const auto keeps = [&](const std::vector<std::int32_t>& floats) {
      return !floats.empty() && floats[i] > 0;
    };
    if (!listed || (shape.keeps_nothing[i] != 0 && (keeps(shape.row_floats) || keeps(shape.state_floats))))
      throw Error(ErrorKind::Internal,
                  "KV cache: {} of {} layers are said to keep nothing or not, layer {} keeps something",
                  shape.keeps_nothing.size(), shape.layers, i);
  }
  if (std::ssize(shape.keeps_nothing) == shape.layers &&
      std::ranges::find(shape.keeps_nothing, 0) == shape.keeps_nothing.end())
    throw Error(ErrorKind::Internal, "KV cache: none of {} layers keeps anything", shape.layers);
  const bool states = !shape.state_floats.empty() || !shape.record_floats.empty();
  for (std::size_t i = 0; states && i < static_cast<std::size_t>(shape.layers); ++i) {
    const bool listed =
        std::ssize(shape.state_floats) == shape.layers && std::ssize(shape.record_floats) == shape.layers;
    if (!listed || shape.state_floats[i] < 0 || shape.state_floats[i] > kMaxStateFloats ||
        shape.record_floats[i] < 0 || shape.record_floats[i] > kMaxRowFloats ||
        (shape.state_floats[i] > 0) != (shape.record_floats[i] > 0)) {
      throw Error(ErrorKind::Internal, "KV cache: {} and {} numbers of states and records for {} layers",
                  shape.state_floats.size(), shape.record_floats.size(), shape.layers);
    }
  }
  if (shape.type == DType::Q8_0 && shape.head_dim % 32 != 0) {
    throw Error(ErrorKind::Unsupported,
                "KV cache: heads of {} are not whole blocks of Q8_0 (multiples of 32)", shape.head_dim);
  }
}

/// Of what all layers keep of float32 a row each, `rows` of them; by layer where each begins.
std::int64_t lay_out_rows(const std::vector<std::int32_t>& floats, std::int64_t rows,
                          std::vector<std::int64_t>* offsets = nullptr) {
  std::int64_t bytes = 0;
  for (const std::int32_t of_layer : floats) {
    if (offsets != nullptr) offsets->push_back(bytes);
    bytes += rows * rounded(of_layer) * kFloatBytes;
  }
  return bytes;
}

std::shared_ptr<KvPagePool> pool_of(std::int64_t page_bytes, const std::shared_ptr<DeviceMemory>& memory) {
  return page_bytes == 0 ? nullptr : std::make_shared<KvPagePool>(page_bytes, memory);
}

}  // namespace

std::int64_t KvCache::layer_bytes(const Shape& shape, int index) {
  if (floats(shape.state_floats, index) > 0 || keeps_nothing(shape, index)) return 0;
  const std::int64_t row = floats(shape.row_floats, index);
  return row > 0 ? kKvPageSlots * row * kFloatBytes : 2 * keys_bytes(shape);
}

std::int64_t KvCache::page_bytes(const Shape& shape, bool of_windowed) {
  std::int64_t bytes = 0;
  for (int i = 0; i < shape.layers; ++i) {
    if (windowed(shape, i) == of_windowed) bytes += layer_bytes(shape, i);
  }
  return bytes;
}

KvCache::Pools KvCache::make_pools(const Shape& shape, std::shared_ptr<DeviceMemory> memory) {
  check(shape);
  if (memory == nullptr) memory = std::make_shared<HostMemory>();
  return {.whole = pool_of(page_bytes(shape, false), memory),
          .windowed = pool_of(page_bytes(shape, true), memory),
          .states = pool_of(lay_out_rows(shape.state_floats, 1), memory),
          .records = pool_of(lay_out_rows(shape.record_floats, kRecordSlots), memory)};
}

KvCache::KvCache(const Shape& shape, const Pools& pools)
    : shape_(shape),
      whole_(pools.whole, pages_for(shape.capacity)),
      windowed_(pools.windowed, pages_for(shape.capacity)),
      states_(pools.states, 1),
      records_(pools.records, pages_for(shape.capacity, kRecordSlots)) {
  check(shape);
  lay_out_rows(shape.state_floats, 1, &state_offset_);
  lay_out_rows(shape.record_floats, kRecordSlots, &record_offset_);
  if (states_.pool()) folded_.assign(static_cast<std::size_t>(shape.layers), 0);
  std::int64_t next[2] = {0, 0};
  for (int i = 0; i < shape.layers; ++i) {
    std::int64_t& end = next[windowed(shape, i) ? 1 : 0];
    offset_.push_back(end);
    end += layer_bytes(shape, i);
  }
}

std::int64_t KvCache::page_bytes() const {
  std::int64_t bytes = 0;
  for_pools([&](const KvPagePool& pool, const KvSpan& span) {
    if (span.page_slots == kKvPageSlots) bytes += pool.page_bytes();
  });
  return bytes;
}

bool KvCache::holds(std::int64_t length) const {
  return length >= 0 && length <= length_ && length >= folded() &&
         first_seen(length) >= windowed_.given_back() * kKvPageSlots;
}

/// A page more than is seen stays, for those that fall back a few tokens.
void KvCache::set_length(std::int64_t length) {
  length_ = length;
  windowed_.give_back_before(first_seen(length) / kKvPageSlots - 1);
  records_.give_back_before(first_unfolded(length, folded_) / kRecordSlots);
}

std::int64_t KvCache::first_unfolded(std::int64_t length, std::span<const std::int64_t> folded) const {
  std::int64_t first = length;
  for (int i = 0; i < shape_.layers; ++i) {
    if (keeps_state(i)) first = std::min(first, folded[static_cast<std::size_t>(i)]);
  }
  return first;
}

KvLayerView KvCache::layer(int index) const {
  assert(index >= 0 && index < shape_.layers && !keeps_rows(index) && !keeps_nothing(index));
  const KvPages& pages = pages_of(index);
  const std::int64_t offset = offset_[static_cast<std::size_t>(index)];
  return {
      .type = shape_.type,
      .pages = pages.table().data(),
      .page_count = pages.count(),
      .k = offset,
      .v = offset + keys_bytes(shape_),
      .kv_heads = shape_.kv_heads,
      .head_dim = shape_.head_dim,
  };
}

SlotRows KvCache::rows(int index) const {
  assert(index >= 0 && index < shape_.layers && keeps_rows(index));
  return {.pages = pages_of(index).table().data(),
          .page_count = pages_of(index).count(),
          .offset = offset_[static_cast<std::size_t>(index)],
          .floats = floats(shape_.row_floats, index)};
}

SlotRows KvCache::records(int index) const {
  assert(index >= 0 && index < shape_.layers && keeps_state(index));
  return {.pages = records_.table().data(),
          .page_count = records_.count(),
          .offset = record_offset_[static_cast<std::size_t>(index)],
          .floats = rounded(floats(shape_.record_floats, index)),
          .page_slots = kRecordSlots};
}

LayerState KvCache::state(int index) const {
  assert(index >= 0 && index < shape_.layers && keeps_state(index));
  const auto layer = static_cast<std::size_t>(index);
  const auto in = [&](std::byte* page) { return reinterpret_cast<float*>(page + state_offset_[layer]); };
  LayerState state{.folded = folded_[layer]};
  if (states_.count() > 0) {
    state.to = in(states_.table()[0]);
    if (state.folded > 0) state.from = state.to;
  }
  if (!next_states_) return state;
  state.to = in(next_states_.data());
  if (next_folded_[layer] >= 0) {
    state.from = next_folded_[layer] > 0 ? state.to : nullptr;
    state.folded = next_folded_[layer];
  }
  return state;
}

std::int64_t KvCache::state_slots() const {
  if (!states_.pool() || !whole_.pool()) return 0;
  return states_.pool()->page_bytes() * kKvPageSlots / whole_.pool()->page_bytes();
}

void KvCache::prepare_states(std::int64_t fold_to, Range slots) {
  bool folds = false;
  for (int i = 0; i < shape_.layers; ++i)
    folds = folds || (keeps_state(i) && folded_[static_cast<std::size_t>(i)] < fold_to);
  const bool may_stay = fold_to <= length_;  // what is committed may be folded whatever comes
  if (folds && (states_.count() == 0 || !may_stay || states_.first_is_shared())) {
    next_states_ = states_.pool()->take();
    next_folded_.assign(folded_.size(), -1);
  }
  records_.make_writable(slots.begin / kRecordSlots, pages_for(slots.end, kRecordSlots));
}

/// Layers that no pass has been over have the state that they had.
void KvCache::take_next_states() {
  if (!next_states_) return;
  for (std::size_t i = 0; i < folded_.size(); ++i) {
    if (next_folded_[i] >= 0) {
      folded_[i] = next_folded_[i];
    } else if (folded_[i] > 0) {
      memory().copy(next_states_.data() + state_offset_[i], states_.table()[0] + state_offset_[i],
                    static_cast<std::size_t>(rounded(shape_.state_floats[i]) * kFloatBytes));
    }
  }
  states_.replace_first(std::exchange(next_states_, KvPage()));
}

KvTxn KvCache::reserve(std::int64_t rows, std::int64_t certain) {
  assert(!open_ && "one transaction at a time");
  assert(rows >= 0 && certain >= 0 && certain <= rows);
  if (rows > room()) {
    throw Error(ErrorKind::ContextFull,
                "the context of {} tokens is full: {} are in it and {} more were asked for", shape_.capacity,
                length_, rows);
  }
  if (rows > 0) {
    for (KvPages* pages : {&whole_, &windowed_}) {
      pages->make_writable(length_ / kKvPageSlots, pages_for(length_ + rows));
    }
  }
  KvTxn txn(*this, length_, rows, certain);
  if (rows > 0 && states_.pool()) prepare_states(txn.fold_to(), {txn.first_record(), length_ + rows});
  open_ = true;
  return txn;
}

void KvCache::truncate(std::int64_t length) {
  assert(!open_);
  assert(length == 0 || holds(length));
  length_ = length;
  for (KvPages* pages : {&whole_, &windowed_}) pages->drop_from(pages_for(length));
  records_.drop_from(pages_for(length, kRecordSlots));
  if (length > 0) return;
  states_.drop_from(0);
  std::fill(folded_.begin(), folded_.end(), 0);
}

void KvCache::lay_out(std::int64_t length, std::span<const std::int64_t> folded) {
  assert(!open_ && length_ == 0 && length <= shape_.capacity && folded.size() == folded_.size());
  for (KvPages* pages : {&whole_, &windowed_}) pages->make_writable(0, pages_for(length));
  length_ = length;
  give_back_unseen();
  if (!states_.pool()) return;
  std::copy(folded.begin(), folded.end(), folded_.begin());
  if (this->folded() > 0) states_.replace_first(states_.pool()->take());
  records_.make_writable(first_unfolded(length, folded_) / kRecordSlots, pages_for(length, kRecordSlots));
}

void KvCache::own_last_pages() {
  assert(!open_);
  if (length_ == 0) return;
  for (KvPages* pages : {&whole_, &windowed_})
    pages->make_writable((length_ - 1) / kKvPageSlots, pages_for(length_));
  records_.make_writable(first_unfolded(length_, folded_) / kRecordSlots, pages_for(length_, kRecordSlots));
}

void KvCache::share(const KvCache& other, std::int64_t length) {
  assert(!open_ && (length == 0 || other.holds(length)));
  if (length > shape_.capacity) {
    throw Error(ErrorKind::ContextFull, "the context of {} tokens cannot take over {}", shape_.capacity,
                length);
  }
  whole_.share(other.whole_, pages_for(length));
  windowed_.share(other.windowed_, pages_for(length));
  states_.share(other.states_, length > 0 ? other.states_.count() : 0);
  records_.share(other.records_, pages_for(length, kRecordSlots));
  if (length > 0) {
    folded_ = other.folded_;
  } else {
    std::fill(folded_.begin(), folded_.end(), 0);
  }
  length_ = length;
}

KvTxn::KvTxn(KvTxn&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)),
      base_(other.base_),
      rows_(other.rows_),
      certain_(other.certain_) {}

KvTxn::~KvTxn() {
  if (cache_ == nullptr) return;
  cache_->next_states_ = KvPage();
  cache_->open_ = false;
}

void KvTxn::set_folded(int first, int last) {
  for (int i = first; i < last; ++i) {
    if (!cache_->keeps_state(i) || cache_->state(i).folded >= fold_to()) continue;
    auto& folded = cache_->next_states_ ? cache_->next_folded_ : cache_->folded_;
    folded[static_cast<std::size_t>(i)] = fold_to();
  }
}

/// What is committed is said.
void KvTxn::close(std::int64_t rows) {
  assert(rows >= certain_ || rows == 0);
  if (rows > 0) cache_->take_next_states();
  cache_->next_states_ = KvPage();
  cache_->set_length(base_ + rows);
  std::exchange(cache_, nullptr)->open_ = false;
}

void KvTxn::commit(std::span<const std::int32_t> path) {
  assert(cache_ != nullptr && cache_->open_);
  assert(path.empty() || (path.front() >= 0 && path.back() < rows_));
  assert(std::adjacent_find(path.begin(), path.end(), std::greater_equal<>()) == path.end());
  // A path that is 0, 1, ... lies where it belongs.
  const bool moves = !path.empty() && path.back() >= static_cast<std::int32_t>(path.size());
  if (moves) cache_->memory().move_slots(*cache_, base_, path);
  close(std::ssize(path));
}

void KvTxn::commit_prefix(std::int64_t rows) {
  assert(cache_ != nullptr && cache_->open_ && rows >= 0 && rows <= rows_);
  close(rows);
}

}  // namespace augur
