#pragma once
#include "model/device.h"

namespace augur {

/// The host as a device: its memory is the host's, taking and reading back cost nothing, and what comes back
/// are views.
class CpuDevice final : public Device {
 public:
  /// `host` outlives it.
  explicit CpuDevice(Backend& host) : host_(host) {}

  std::string_view name() const override { return "cpu"; }
  Backend& host() const override { return host_; }
  const std::shared_ptr<DeviceMemory>& memory() const override { return memory_; }

  void take(PackedMatrix& matrix) override;
  void read_row(const PackedMatrix& matrix, std::int64_t row, float* out) const override;
  void copy_rows(PackedMatrix& to, std::int64_t first, const PackedMatrix& from,
                 std::span<const std::int32_t> rows) override;

  std::unique_ptr<DeviceStack> make_stack(const StackSpec& spec) override;
  std::unique_ptr<DeviceProduct> make_product() override;

 private:
  Backend& host_;
  const std::shared_ptr<DeviceMemory> memory_ = std::make_shared<HostMemory>();
};

}  // namespace augur
