#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/attention.h"
#include "model/device.h"

namespace augur::testing_support {

/// Memory that the host cannot look into: an address is one of a range of pages that nobody may read or
/// write, and what lies there lies elsewhere, at a distance that only the device knows. Whoever follows an
/// address ends the program.
class FarMemory final : public DeviceMemory {
 public:
  FarMemory();
  ~FarMemory() override;
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;

  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void write(std::byte* to, std::span<const std::byte> from) override;
  std::span<const std::byte> read(const std::byte* from, std::size_t bytes,
                                  std::vector<std::byte>& held) override;
  void move_slots(const KvCache& cache, std::int64_t base, std::span<const std::int32_t> path) override;
  void clear_slots(const KvCache& cache, Range slots) override;
  void clear_records(const KvCache& cache, Range slots) override;

  bool has(const std::byte* address) const { return address >= begin_ && address < begin_ + kBytes; }
  /// What an address of this memory means. Null stays null.
  std::byte* follow(const std::byte* address) const;
  /// The view with addresses that kernels can follow, which `table` holds.
  KvLayerView follow(const KvLayerView& view, std::vector<std::byte*>& table) const;
  SlotRows follow(const SlotRows& rows, std::vector<std::byte*>& table) const;
  LayerState follow(const LayerState& state) const;

 private:
  struct Region;
  static constexpr std::size_t kBytes = std::size_t{1} << 35;  // of address space

  std::shared_ptr<Region> region_;  ///< addresses, then as many bytes of what they mean
  std::byte* begin_ = nullptr;
};

/// A device as another machine would be one, in plain C++: its matrices and pages are in FarMemory, its
/// activations are its own, and it computes a layer as the contracts of kernels/ read, one thing after the
/// other, on one thread, with the products and the attention of a kernel variant of the host's. Its bits are
/// that variant's.
class SlowDevice final : public Device {
 public:
  /// `host` outlives it; its kernels are used.
  explicit SlowDevice(Backend& host) : host_(host), memory_(std::make_shared<FarMemory>()) {}

  std::string_view name() const override { return "slow"; }
  Backend& host() const override { return host_; }
  const std::shared_ptr<DeviceMemory>& memory() const override { return door_; }

  void take(PackedMatrix& matrix) override;
  void read_row(const PackedMatrix& matrix, std::int64_t row, float* out) const override;
  void copy_rows(PackedMatrix& to, std::int64_t first, const PackedMatrix& from,
                 std::span<const std::int32_t> rows) override;
  std::unique_ptr<DeviceStack> make_stack(const StackSpec& spec) override;
  std::unique_ptr<DeviceProduct> make_product() override;

  const FarMemory& far_memory() const { return *memory_; }
  /// A matrix of the device's or the host's as kernels can read it. Not to be kept.
  PackedMatrix seen(const PackedMatrix& matrix) const;
  const KernelSet& kernels() const { return host_.kernels; }

 private:
  Backend& host_;
  const std::shared_ptr<FarMemory> memory_;
  const std::shared_ptr<DeviceMemory> door_ = memory_;
};

}  // namespace augur::testing_support
