#include <cassert>
#include <cstring>

#include "base/dtype.h"
#include "kernels/attention.h"
#include "kernels/kv_quant.h"
#include "kernels/ops_quant.h"

namespace augur {

namespace {

constexpr std::int64_t kPanel = 16;

std::byte* page_of(const KvLayerView& kv, std::int64_t slot) {
  assert(slot >= 0 && slot < kv.page_count * kKvPageSlots);
  return kv.pages[slot / kKvPageSlots];
}

/// Elements of one slot within a head: element i of K is at k + i / unit * k_step + i % unit, of V at
/// v + i * v_step.
template <class T>
struct SlotLayout {
  static constexpr std::int64_t kUnit = sizeof(T) == 2 ? 2 : 1;
  static constexpr std::int64_t kKStep = kPanel * kUnit;
  static constexpr std::int64_t kVStep = kUnit;

  static T* key(const KvLayerView& kv, int head, std::int64_t slot) {
    const std::int64_t in_page = slot % kKvPageSlots;
    return reinterpret_cast<T*>(page_of(kv, slot) + kv.k + head * kv_head_bytes(kv)) +
           in_page / kPanel * kPanel * kv.head_dim + in_page % kPanel * kUnit;
  }
  static T* value(const KvLayerView& kv, int head, std::int64_t slot) {
    const std::int64_t in_page = slot % kKvPageSlots;
    return reinterpret_cast<T*>(page_of(kv, slot) + kv.v + head * kv_head_bytes(kv)) +
           in_page / kUnit * kUnit * kv.head_dim + in_page % kUnit;
  }
};

float convert(float v, float) {
  return v;
}
BF16 convert(float v, BF16) {
  return to_bf16(v);
}

template <class T>
void store(const KvLayerView& kv, int head, std::int64_t slot, const float* key, const float* value) {
  using Layout = SlotLayout<T>;
  T* k = Layout::key(kv, head, slot);
  T* v = Layout::value(kv, head, slot);
  for (std::int64_t i = 0; i < kv.head_dim; i += Layout::kUnit) {
    for (std::int64_t j = 0; j < Layout::kUnit; ++j) k[j] = convert(key[i + j], T());
    k += Layout::kKStep;
  }
  for (std::int64_t i = 0; i < kv.head_dim; ++i) v[i * Layout::kVStep] = convert(value[i], T());
}

template <class T>
void move(const KvLayerView& kv, std::int64_t from, std::int64_t to) {
  using Layout = SlotLayout<T>;
  for (int head = 0; head < kv.kv_heads; ++head) {
    const T* k = Layout::key(kv, head, from);
    T* k_to = Layout::key(kv, head, to);
    for (std::int64_t i = 0; i < kv.head_dim / Layout::kUnit; ++i) {
      std::memcpy(k_to + i * Layout::kKStep, k + i * Layout::kKStep, sizeof(T) * Layout::kUnit);
    }
    const T* v = Layout::value(kv, head, from);
    T* v_to = Layout::value(kv, head, to);
    for (std::int64_t i = 0; i < kv.head_dim; ++i) v_to[i * Layout::kVStep] = v[i * Layout::kVStep];
  }
}

/// Where element i of a slot's key (value) lies in the panel's bytes, relative to element 0.
struct QuantSlot {
  std::byte* k;
  std::byte* v;
  std::int64_t head_dim;
  std::int64_t column;  ///< of the panel

  QuantSlot(const KvLayerView& kv, int head, std::int64_t slot)
      : head_dim(kv.head_dim), column(slot % kPanel) {
    std::byte* const at = page_of(kv, slot) + head * kv_head_bytes(kv) +
                          slot % kKvPageSlots / kPanel * kv_quant_panel_bytes(head_dim);
    k = at + kv.k;
    v = at + kv.v;
  }
  std::byte* key(std::int64_t i) const { return k + i / 2 * 2 * kPanel + 2 * column + i % 2; }
  std::byte* value(std::int64_t i) const { return v + (column / 2 * head_dim + i) * 2 + column % 2; }
  std::byte* scale(std::byte* panel, std::int64_t block) const {
    return panel + kv_quant_scales_at(head_dim) +
           (block * kPanel + column) * static_cast<std::int64_t>(sizeof(float));
  }
};

void store_quantised(const KvLayerView& kv, int head, std::int64_t slot, const float* key,
                     const float* value) {
  const QuantSlot at(kv, head, slot);
  for (std::int64_t block = 0; block < kv.head_dim / QuantBlock::kElements; ++block) {
    const std::int64_t first = block * QuantBlock::kElements;
    QuantBlock k;
    QuantBlock v;
    quantize_row(key + first, QuantBlock::kElements, &k);
    quantize_row(value + first, QuantBlock::kElements, &v);
    for (std::int64_t i = 0; i < QuantBlock::kElements; ++i) {
      *at.key(first + i) = static_cast<std::byte>(k.q[i]);
      *at.value(first + i) = static_cast<std::byte>(v.q[i]);
    }
    std::memcpy(at.scale(at.k, block), &k.scale, sizeof k.scale);
    std::memcpy(at.scale(at.v, block), &v.scale, sizeof v.scale);
  }
}

void move_quantised(const KvLayerView& kv, std::int64_t from, std::int64_t to) {
  for (int head = 0; head < kv.kv_heads; ++head) {
    const QuantSlot a(kv, head, from);
    const QuantSlot b(kv, head, to);
    for (std::int64_t i = 0; i < kv.head_dim; ++i) {
      *b.key(i) = *a.key(i);
      *b.value(i) = *a.value(i);
    }
    for (std::int64_t block = 0; block < kv.head_dim / QuantBlock::kElements; ++block) {
      std::memcpy(b.scale(b.k, block), a.scale(a.k, block), sizeof(float));
      std::memcpy(b.scale(b.v, block), a.scale(a.v, block), sizeof(float));
    }
  }
}

}  // namespace

std::int64_t kv_slot_bytes(DType type, std::int64_t head_dim) {
  return type == DType::Q8_0 ? kv_quant_panel_bytes(head_dim) / kPanel : head_dim * block_shape(type).bytes;
}

KvLayerView from_slot(const KvLayerView& kv, std::int64_t slot) {
  assert(slot >= 0 && slot % kKvPageSlots == 0 && slot <= kv.page_count * kKvPageSlots);
  KvLayerView view = kv;
  view.pages += slot / kKvPageSlots;
  view.page_count -= slot / kKvPageSlots;
  return view;
}

void kv_store(const KvLayerView& kv, int kv_head, std::int64_t slot, const float* key, const float* value) {
  if (kv.type == DType::Q8_0) return store_quantised(kv, kv_head, slot, key, value);
  kv.type == DType::BF16 ? store<BF16>(kv, kv_head, slot, key, value)
                         : store<float>(kv, kv_head, slot, key, value);
}

void kv_move(const KvLayerView& kv, std::int64_t from, std::int64_t to) {
  if (from == to) return;
  if (kv.type == DType::Q8_0) return move_quantised(kv, from, to);
  kv.type == DType::BF16 ? move<BF16>(kv, from, to) : move<float>(kv, from, to);
}

}  // namespace augur
