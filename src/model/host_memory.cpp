#include <cstring>

#include "base/buffer.h"
#include "model/device_memory.h"
#include "model/kv_cache.h"
#include "model/slot_moves.h"

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
  for_layers(cache, [&](const auto& layer) { augur::move_slots(layer, base, path); });
}

void HostMemory::clear_slots(const KvCache& cache, Range slots) {
  for_layers(cache, [&](const auto& layer) { augur::clear_slots(layer, slots); });
}

void HostMemory::clear_records(const KvCache& cache, Range slots) {
  for_records(cache, [&](const SlotRows& layer) { augur::clear_slots(layer, slots); });
}

}  // namespace augur
