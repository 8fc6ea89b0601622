#include <cassert>
#include <cstring>

#include "base/dtype.h"
#include "kernels/attention.h"

namespace augur {

namespace {

constexpr std::int64_t kPanel = 16;

/// Elements of one slot within a head: element i of K is at k + i / unit * k_step + i % unit, of V at
/// v + i * v_step.
template <class T>
struct SlotLayout {
  static constexpr std::int64_t kUnit = sizeof(T) == 2 ? 2 : 1;
  static constexpr std::int64_t kKStep = kPanel * kUnit;
  static constexpr std::int64_t kVStep = kUnit;

  static T* key(const KvLayerView& kv, int head, std::int64_t slot) {
    return reinterpret_cast<T*>(kv.k) + head * kv.head_stride + slot / kPanel * kPanel * kv.head_dim +
           slot % kPanel * kUnit;
  }
  static T* value(const KvLayerView& kv, int head, std::int64_t slot) {
    return reinterpret_cast<T*>(kv.v) + head * kv.head_stride + slot / kUnit * kUnit * kv.head_dim +
           slot % kUnit;
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

}  // namespace

KvLayerView from_slot(const KvLayerView& kv, std::int64_t slot) {
  assert(slot >= 0 && slot % kPanel == 0);
  const std::int64_t bytes = slot * kv.head_dim * block_shape(kv.type).bytes;
  KvLayerView view = kv;
  view.k += bytes;
  view.v += bytes;
  return view;
}

void kv_store(const KvLayerView& kv, int kv_head, std::int64_t slot, const float* key, const float* value) {
  kv.type == DType::BF16 ? store<BF16>(kv, kv_head, slot, key, value)
                         : store<float>(kv, kv_head, slot, key, value);
}

void kv_move(const KvLayerView& kv, std::int64_t from, std::int64_t to) {
  if (from == to) return;
  kv.type == DType::BF16 ? move<BF16>(kv, from, to) : move<float>(kv, from, to);
}

}  // namespace augur
