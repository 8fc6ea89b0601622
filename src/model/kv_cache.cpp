#include "model/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <utility>

#include "base/error.h"

namespace augur {

namespace {

constexpr std::int64_t kMaxCapacity = std::int64_t{1} << 30;
constexpr std::int64_t kMaxPageBytes = std::int64_t{1} << 36;

std::int64_t pages_for(std::int64_t slots) {
  return (slots + kKvPageSlots - 1) / kKvPageSlots;
}

/// Of K (and of V) of one layer of a page.
std::int64_t layer_bytes(const KvCache::Shape& shape) {
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
  if (!valid || layer_bytes(shape) > kMaxPageBytes / shape.layers) {
    throw Error("KV cache: {} layers of {} heads of {} for {} tokens is not a valid size", shape.layers,
                shape.kv_heads, shape.head_dim, shape.capacity);
  }
  if (shape.type == DType::Q8_0 && shape.head_dim % 32 != 0) {
    throw Error("KV cache: heads of {} are not whole blocks of Q8_0 (multiples of 32)", shape.head_dim);
  }
}

std::int64_t page_bytes(const KvCache::Shape& shape) {
  return 2 * shape.layers * layer_bytes(shape);
}

}  // namespace

std::shared_ptr<KvPagePool> KvCache::make_pool(const Shape& shape) {
  check(shape);
  return std::make_shared<KvPagePool>(page_bytes(shape));
}

KvCache::KvCache(const Shape& shape, std::shared_ptr<KvPagePool> pool)
    : shape_(shape), pool_(std::move(pool)) {
  check(shape);
  assert(pool_->page_bytes() == page_bytes(shape));
  const auto most = static_cast<std::size_t>(pages_for(shape.capacity));
  pages_.reserve(most);
  table_.reserve(most);
}

/// The pages of these slots are this cache's alone from now on.
void KvCache::make_writable(std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin / kKvPageSlots; i < pages_for(end); ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (index == pages_.size()) {
      pages_.push_back(pool_->take());
      table_.push_back(pages_.back().data());
    } else if (pages_[index].shared()) {
      KvPage copy = pool_->take();
      std::memcpy(copy.data(), table_[index], static_cast<std::size_t>(pool_->page_bytes()));
      table_[index] = copy.data();
      pages_[index] = std::move(copy);
    }
  }
}

void KvCache::drop_pages(std::int64_t keep) {
  if (keep >= pages()) return;
  pages_.erase(pages_.begin() + keep, pages_.end());
  table_.resize(pages_.size());
}

KvLayerView KvCache::layer(int index) const {
  assert(index >= 0 && index < shape_.layers);
  const std::int64_t part = layer_bytes(shape_);
  return {
      .type = shape_.type,
      .pages = table_.data(),
      .page_count = pages(),
      .k = 2 * index * part,
      .v = (2 * index + 1) * part,
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
  if (rows > 0) make_writable(length_, length_ + rows);
  open_ = true;
  return {*this, length_, rows};
}

void KvCache::truncate(std::int64_t length) {
  assert(!open_);
  assert(length >= 0 && length <= length_);
  length_ = length;
  drop_pages(pages_for(length));
}

void KvCache::share(const KvCache& other, std::int64_t length) {
  assert(!open_ && other.pool_ == pool_);
  assert(length >= 0 && length <= other.length_);
  if (length > shape_.capacity) {
    throw Error("the context of {} tokens cannot take over {}", shape_.capacity, length);
  }
  const auto count = static_cast<std::ptrdiff_t>(pages_for(length));
  pages_.assign(other.pages_.begin(), other.pages_.begin() + count);
  table_.assign(other.table_.begin(), other.table_.begin() + count);
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
