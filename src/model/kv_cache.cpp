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

std::int64_t pages_for(std::int64_t slots) {
  return (slots + kKvPageSlots - 1) / kKvPageSlots;
}

/// Of K (and of V) of one layer of a page.
std::int64_t keys_bytes(const KvCache::Shape& shape) {
  return kKvPageSlots * shape.kv_heads * kv_slot_bytes(shape.type, shape.head_dim);
}

void check(const KvCache::Shape& shape) {
  if (shape.type != DType::BF16 && shape.type != DType::F32 && shape.type != DType::Q8_0) {
    throw Error("KV cache: {} is not supported (BF16, F32 or Q8_0)", name(shape.type));
  }
  constexpr int kMaxCount = 1 << 16;  // of layers, heads, dimensions: products stay inside 63 bits
  const auto plausible = [](int count) { return count >= 1 && count <= kMaxCount; };
  const bool valid = plausible(shape.layers) && plausible(shape.kv_heads) && plausible(shape.head_dim) &&
                     shape.head_dim % 2 == 0 && shape.capacity >= 1 && shape.capacity <= kMaxCapacity;
  if (!valid || keys_bytes(shape) > kMaxPageBytes / shape.layers) {
    throw Error("KV cache: {} layers of {} heads of {} for {} tokens is not a valid size", shape.layers,
                shape.kv_heads, shape.head_dim, shape.capacity);
  }
  const bool windows =
      std::any_of(shape.windowed.begin(), shape.windowed.end(), [](auto w) { return w != 0; });
  if ((!shape.windowed.empty() && std::ssize(shape.windowed) != shape.layers) || shape.window < 0 ||
      windows != (shape.window > 0)) {
    throw Error("KV cache: a window of {} over {} of {} layers", shape.window, shape.windowed.size(),
                shape.layers);
  }
  for (std::size_t i = 0; i < shape.row_floats.size(); ++i) {
    const bool fits = std::ssize(shape.row_floats) == shape.layers && shape.row_floats[i] >= 0 &&
                      shape.row_floats[i] <= kMaxRowFloats;
    if (!fits || (shape.row_floats[i] > 0 && (shape.windowed.empty() || shape.windowed[i] == 0)))
      throw Error("KV cache: rows of {} numbers in layer {} of {}", shape.row_floats[i], i, shape.layers);
  }
  if (shape.type == DType::Q8_0 && shape.head_dim % 32 != 0) {
    throw Error("KV cache: heads of {} are not whole blocks of Q8_0 (multiples of 32)", shape.head_dim);
  }
}

std::shared_ptr<KvPagePool> pool_of(std::int64_t page_bytes, const std::shared_ptr<DeviceMemory>& memory) {
  return page_bytes == 0 ? nullptr : std::make_shared<KvPagePool>(page_bytes, memory);
}

}  // namespace

std::int64_t KvCache::layer_bytes(const Shape& shape, int index) {
  const std::int64_t floats = row_floats(shape, index);
  return floats > 0 ? kKvPageSlots * floats * static_cast<std::int64_t>(sizeof(float))
                    : 2 * keys_bytes(shape);
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
          .windowed = pool_of(page_bytes(shape, true), memory)};
}

KvCache::KvCache(const Shape& shape, const Pools& pools)
    : shape_(shape),
      whole_(pools.whole, pages_for(shape.capacity)),
      windowed_(pools.windowed, pages_for(shape.capacity)) {
  check(shape);
  std::int64_t next[2] = {0, 0};
  for (int i = 0; i < shape.layers; ++i) {
    std::int64_t& end = next[windowed(shape, i) ? 1 : 0];
    offset_.push_back(end);
    end += layer_bytes(shape, i);
  }
  assert(page_bytes() == next[0] + next[1]);
}

std::int64_t KvCache::page_bytes() const {
  std::int64_t bytes = 0;
  for_pools([&](const KvPagePool& pool, std::int64_t) { bytes += pool.page_bytes(); });
  return bytes;
}

bool KvCache::holds(std::int64_t length) const {
  return length >= 0 && length <= length_ && first_seen(length) >= windowed_.given_back() * kKvPageSlots;
}

/// A page more than is seen stays, for those that fall back a few tokens.
void KvCache::set_length(std::int64_t length) {
  length_ = length;
  windowed_.give_back_before(first_seen(length) / kKvPageSlots - 1);
}

KvLayerView KvCache::layer(int index) const {
  assert(index >= 0 && index < shape_.layers && !keeps_rows(index));
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
          .floats = row_floats(shape_, index)};
}

KvTxn KvCache::reserve(std::int64_t rows) {
  assert(!open_ && "one transaction at a time");
  assert(rows >= 0);
  if (rows > room()) {
    throw Error("the context of {} tokens is full: {} are in it and {} more were asked for", shape_.capacity,
                length_, rows);
  }
  if (rows > 0) {
    for (KvPages* pages : {&whole_, &windowed_}) {
      pages->make_writable(length_ / kKvPageSlots, pages_for(length_ + rows));
    }
  }
  open_ = true;
  return {*this, length_, rows};
}

void KvCache::truncate(std::int64_t length) {
  assert(!open_);
  assert(length == 0 || holds(length));
  length_ = length;
  for (KvPages* pages : {&whole_, &windowed_}) pages->drop_from(pages_for(length));
}

void KvCache::share(const KvCache& other, std::int64_t length) {
  assert(!open_ && (length == 0 || other.holds(length)));
  if (length > shape_.capacity) {
    throw Error("the context of {} tokens cannot take over {}", shape_.capacity, length);
  }
  whole_.share(other.whole_, pages_for(length));
  windowed_.share(other.windowed_, pages_for(length));
  length_ = length;
}

KvTxn::KvTxn(KvTxn&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)), base_(other.base_), rows_(other.rows_) {}

KvTxn::~KvTxn() {
  if (cache_ != nullptr) cache_->open_ = false;
}

void KvTxn::commit(std::span<const std::int32_t> path) {
  assert(cache_ != nullptr && cache_->open_);
  assert(path.empty() || (path.front() >= 0 && path.back() < rows_));
  assert(std::adjacent_find(path.begin(), path.end(), std::greater_equal<>()) == path.end());
  // A path that is 0, 1, ... lies where it belongs.
  const bool moves = !path.empty() && path.back() >= static_cast<std::int32_t>(path.size());
  if (moves) cache_->memory().move_slots(*cache_, base_, path);
  cache_->set_length(base_ + static_cast<std::int64_t>(path.size()));
  std::exchange(cache_, nullptr)->open_ = false;
}

void KvTxn::commit_prefix(std::int64_t rows) {
  assert(cache_ != nullptr && cache_->open_ && rows >= 0 && rows <= rows_);
  cache_->set_length(base_ + rows);
  std::exchange(cache_, nullptr)->open_ = false;
}

}  // namespace augur
