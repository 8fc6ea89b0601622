#include <cstring>

#include "base/buffer.h"
#include "kernels/attention.h"
#include "model/device_memory.h"
#include "model/kv_cache.h"

namespace augur {

std::shared_ptr<std::byte> HostMemory::allocate(std::size_t bytes) {
  const auto memory = std::make_shared<PageMemory>(bytes);
  return {memory, memory->data()};
}

void HostMemory::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void HostMemory::write(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

std::span<const std::byte> HostMemory::read(const std::byte* from, std::size_t bytes,
                                            std::vector<std::byte>& /*held*/) {
  return {from, bytes};
}

void HostMemory::move_slots(const KvCache& cache, std::int64_t base, std::span<const std::int32_t> path) {
  for (int layer = 0; layer < cache.shape().layers; ++layer) {
    const KvLayerView view = cache.layer(layer);
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto to = static_cast<std::int64_t>(i);
      if (path[i] != to) kv_move(view, base + path[i], base + to);
    }
  }
}

void HostMemory::clear_slots(const KvCache& cache, Range slots) {
  const std::vector<float> zeros(static_cast<std::size_t>(cache.shape().head_dim));
  for (int layer = 0; layer < cache.shape().layers; ++layer) {
    const KvLayerView view = cache.layer(layer);
    for (int head = 0; head < cache.shape().kv_heads; ++head) {
      for (std::int64_t slot = slots.begin; slot < slots.end; ++slot) {
        kv_store(view, head, slot, zeros.data(), zeros.data());
      }
    }
  }
}

}  // namespace augur
