#include "model/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <utility>

#include "base/error.h"

namespace augur {

namespace {

constexpr std::int64_t kPanel = 16;
constexpr std::int64_t kFirstSlots = 256;
constexpr std::int64_t kMaxCapacity = std::int64_t{1} << 30;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 46;

std::int64_t round_up(std::int64_t slots) {
  return (slots + kPanel - 1) / kPanel * kPanel;
}

/// Of K (and of V) of one layer with room for `slots`.
std::int64_t layer_bytes(const KvCache::Shape& shape, std::int64_t slots) {
  return slots * shape.kv_heads * kv_slot_bytes(shape.type, shape.head_dim);
}

/// Copies the first `slots` slots (a multiple of 16) of every layer and head to memory laid out for another
/// number of slots: within a head the order does not depend on it.
void copy_heads(const KvCache::Shape& shape, const PageMemory& from, std::int64_t from_slots,
                const PageMemory& to, std::int64_t to_slots, std::int64_t slots) {
  const std::int64_t slot_bytes = kv_slot_bytes(shape.type, shape.head_dim);
  for (std::int64_t head = 0; head < std::int64_t{shape.layers} * shape.kv_heads; ++head) {
    std::memcpy(to.data() + head * to_slots * slot_bytes, from.data() + head * from_slots * slot_bytes,
                static_cast<std::size_t>(slots * slot_bytes));
  }
}

}  // namespace

KvCache::KvCache(const Shape& shape) : shape_(shape) {
  if (shape.type != DType::BF16 && shape.type != DType::F32 && shape.type != DType::Q8_0) {
    throw Error("KV cache: {} is not supported (BF16, F32 or Q8_0)", name(shape.type));
  }
  constexpr int kMaxCount = 1 << 16;  // of layers, heads, dimensions: products stay inside 63 bits
  const auto plausible = [](int count) { return count >= 1 && count <= kMaxCount; };
  const bool valid = plausible(shape.layers) && plausible(shape.kv_heads) && plausible(shape.head_dim) &&
                     shape.head_dim % 2 == 0 && shape.capacity >= 1 && shape.capacity <= kMaxCapacity;
  if (!valid || layer_bytes(shape, round_up(shape.capacity)) > kMaxBytes / shape.layers) {
    throw Error("KV cache: {} layers of {} heads of {} for {} tokens is not a valid size", shape.layers,
                shape.kv_heads, shape.head_dim, shape.capacity);
  }
  if (shape.type == DType::Q8_0 && shape.head_dim % 32 != 0) {
    throw Error("KV cache: heads of {} are not whole blocks of Q8_0 (multiples of 32)", shape.head_dim);
  }
}

void KvCache::grow(std::int64_t slots) {
  const std::int64_t most = round_up(shape_.capacity);
  const std::int64_t target = std::min(most, std::max({round_up(slots), 2 * slots_, kFirstSlots}));
  const auto bytes = static_cast<std::size_t>(shape_.layers * layer_bytes(shape_, target));
  const std::int64_t used = round_up(length_);
  PageMemory k(bytes);
  if (used > 0) copy_heads(shape_, k_, slots_, k, target, used);
  PageMemory v(bytes);
  if (used > 0) copy_heads(shape_, v_, slots_, v, target, used);
  k_ = std::move(k);
  v_ = std::move(v);
  slots_ = target;
}

KvLayerView KvCache::layer(int index) const {
  assert(index >= 0 && index < shape_.layers);
  const std::int64_t offset = index * layer_bytes(shape_, slots_);
  return {
      .type = shape_.type,
      .k = k_.data() + offset,
      .v = v_.data() + offset,
      .head_stride = slots_ * shape_.head_dim,
      .kv_heads = shape_.kv_heads,
      .head_dim = shape_.head_dim,
  };
}

KvTxn KvCache::reserve(std::int64_t rows) {
  assert(!open_ && "one transaction at a time");
  assert(rows >= 0);
  if (rows > room()) {
    throw Error("the context of {} tokens is full: {} are in it and {} more were asked for", shape_.capacity,
                length_, rows);
  }
  if (length_ + rows > slots_) grow(length_ + rows);
  open_ = true;
  return {*this, length_, rows};
}

void KvCache::truncate(std::int64_t length) {
  assert(!open_);
  assert(length >= 0 && length <= length_);
  length_ = length;
}

KvTxn::KvTxn(KvTxn&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)), base_(other.base_), rows_(other.rows_) {}

KvTxn::~KvTxn() {
  if (cache_ != nullptr) cache_->open_ = false;
}

void KvTxn::commit(std::span<const std::int32_t> path) {
  assert(cache_ != nullptr && cache_->open_);
  const Range moved = [&] {  // a path that starts 0, 1, ... lies where it belongs
    std::int64_t first = 0;
    const auto count = static_cast<std::int64_t>(path.size());
    while (first < count && path[static_cast<std::size_t>(first)] == first) ++first;
    return Range{first, count};
  }();
  assert(path.empty() || (path.front() >= 0 && path.back() < rows_));
  assert(std::adjacent_find(path.begin(), path.end(), std::greater_equal<>()) == path.end());
  for (int layer = 0; moved.size() > 0 && layer < cache_->shape_.layers; ++layer) {
    const KvLayerView view = cache_->layer(layer);
    for (std::int64_t i = moved.begin; i < moved.end; ++i) {
      kv_move(view, base_ + path[static_cast<std::size_t>(i)], base_ + i);
    }
  }
  cache_->length_ = base_ + static_cast<std::int64_t>(path.size());
  std::exchange(cache_, nullptr)->open_ = false;
}

void KvTxn::commit_prefix(std::int64_t rows) {
  assert(cache_ != nullptr && cache_->open_ && rows >= 0 && rows <= rows_);
  cache_->length_ = base_ + rows;
  std::exchange(cache_, nullptr)->open_ = false;
}

}  // namespace augur
