#include "support/slow_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.h"
#include "kernels/ops.h"
#include "model/kv_cache.h"
#include "model/slot_moves.h"
#include "support/slow_stack.h"

namespace augur::testing_support {

// --- Memory ----------------------------------------------------------------------------------------------

struct FarMemory::Region {
  std::byte* begin = nullptr;
  std::atomic<std::size_t> used = 0;

  Region() {
    void* const memory =
        mmap(nullptr, 2 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw Error(ErrorKind::OutOfMemory, "the slow device's addresses");
    begin = static_cast<std::byte*>(memory);
  }
  ~Region() { munmap(begin, 2 * kBytes); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

FarMemory::FarMemory() : region_(std::make_shared<Region>()), begin_(region_->begin) {}
FarMemory::~FarMemory() = default;

std::shared_ptr<std::byte> FarMemory::allocate(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  const std::size_t at = region_->used.fetch_add(whole);
  if (at + whole > kBytes) throw Error(ErrorKind::OutOfMemory, "{} bytes of the slow device", bytes);
  std::byte* const address = begin_ + at;
  std::byte* const meaning = address + kBytes;
  if (mprotect(meaning, whole, PROT_READ | PROT_WRITE) != 0)
    throw Error(ErrorKind::OutOfMemory, "{} bytes", bytes);
  return {region_, address};
}

std::byte* FarMemory::follow(const std::byte* address) const {
  if (address == nullptr) return nullptr;
  if (!has(address)) throw Error("the slow device was given an address that is not its own");
  return const_cast<std::byte*>(address) + kBytes;
}

KvLayerView FarMemory::follow(const KvLayerView& view, std::vector<std::byte*>& table) const {
  table.clear();
  for (std::int64_t i = 0; i < view.page_count; ++i) table.push_back(follow(view.pages[i]));
  KvLayerView near = view;
  near.pages = table.data();
  return near;
}

void FarMemory::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(follow(to), follow(from), bytes);
}

void FarMemory::write(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(follow(to), from.data(), from.size());
}

std::span<const std::byte> FarMemory::read(const std::byte* from, std::size_t bytes,
                                           std::vector<std::byte>& held) {
  const std::byte* const meaning = follow(from);
  held.assign(meaning, meaning + bytes);
  return held;
}

SlotRows FarMemory::follow(const SlotRows& rows, std::vector<std::byte*>& table) const {
  table.clear();
  for (std::int64_t i = 0; i < rows.page_count; ++i) table.push_back(follow(rows.pages[i]));
  SlotRows near = rows;
  near.pages = table.data();
  return near;
}

void FarMemory::move_slots(const KvCache& cache, std::int64_t base, std::span<const std::int32_t> path) {
  std::vector<std::byte*> table;
  for_layers(cache, [&](const auto& layer) { augur::move_slots(follow(layer, table), base, path); });
}

void FarMemory::clear_slots(const KvCache& cache, Range slots) {
  std::vector<std::byte*> table;
  for_layers(cache, [&](const auto& layer) { augur::clear_slots(follow(layer, table), slots); });
}

void FarMemory::clear_records(const KvCache& cache, Range slots) {
  std::vector<std::byte*> table;
  for_records(cache, [&](const SlotRows& layer) { augur::clear_slots(follow(layer, table), slots); });
}

LayerState FarMemory::follow(const LayerState& state) const {
  const auto near = [&](const float* address) {
    return reinterpret_cast<float*>(follow(reinterpret_cast<const std::byte*>(address)));
  };
  return {.from = near(state.from), .to = near(state.to), .folded = state.folded};
}

// --- Matrices --------------------------------------------------------------------------------------------

PackedMatrix SlowDevice::seen(const PackedMatrix& matrix) const {
  const std::byte* const first = matrix.panel(0);
  std::byte* const near = memory_->has(first) ? memory_->follow(first) : const_cast<std::byte*>(first);
  return matrix.at(std::shared_ptr<std::byte>(std::shared_ptr<void>(), near));
}

void SlowDevice::take(PackedMatrix& matrix) {
  if (memory_->has(matrix.panel(0))) return;
  const auto bytes = static_cast<std::size_t>(matrix.bytes());
  std::shared_ptr<std::byte> memory = memory_->allocate(bytes);
  memory_->write(memory.get(), {matrix.panel(0), bytes});
  matrix = matrix.at(std::move(memory));
}

void SlowDevice::read_row(const PackedMatrix& matrix, std::int64_t row, float* out) const {
  seen(matrix).get_row(row, out);
}

void SlowDevice::copy_rows(PackedMatrix& to, std::int64_t first, const PackedMatrix& from,
                           std::span<const std::int32_t> rows) {
  if (!memory_->has(to.panel(0))) throw Error("the slow device was to write to a matrix of the host");
  PackedMatrix near = seen(to);
  const PackedMatrix source = seen(from);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    near.copy_row(first + static_cast<std::int64_t>(i), source, rows[i]);
  }
}

std::unique_ptr<DeviceStack> SlowDevice::make_stack(const StackSpec& spec) {
  if (!spec.share.whole()) throw Error("the slow device computes whole stacks");
  return std::make_unique<SlowStack>(*this, spec);
}

std::unique_ptr<DeviceProduct> SlowDevice::make_product() {
  return std::make_unique<SlowProduct>(*this);
}

}  // namespace augur::testing_support
