#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"

namespace augur {

class KvCache;

/// Memory of a device. An address of it is a number that only the device follows: the host keeps it, counts
/// with it and hands it back; what lies there it writes, copies and reads through these functions. Pages of
/// caches are such memory, and so is whatever else a text leaves on a device between two forward passes (the
/// state of a recurrent layer): all that keeping, sharing and restoring texts takes is here. Thread-safe as
/// far as nobody writes to what another reads. Functions return when the work is done.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Memory whose beginning is aligned to 64 bytes; it is given back with the last copy of the pointer. What
  /// lies in it is not said. OutOfMemory when the device has none.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  /// What lies there, for the host: a view of the memory itself where the host can look into it, otherwise a
  /// copy in `held`, which the result then lives as long as.
  virtual std::span<const std::byte> read(const std::byte* from, std::size_t bytes,
                                          std::vector<std::byte>& held) = 0;

  // What is done to slots of a cache, in all its layers. Its pages are this memory's.

  /// Slot base + i becomes what slot base + path[i] is, i = 0, 1, ... in that order; path[i] >= i.
  virtual void move_slots(const KvCache& cache, std::int64_t base, std::span<const std::int32_t> path) = 0;
  /// Zeros; of records as well, where there are pages of these.
  virtual void clear_slots(const KvCache& cache, Range slots) = 0;
  /// Zeros of records alone, likewise.
  virtual void clear_records(const KvCache& cache, Range slots) = 0;
};

/// The host's own, whose addresses are pointers.
class HostMemory final : public DeviceMemory {
 public:
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void write(std::byte* to, std::span<const std::byte> from) override;
  std::span<const std::byte> read(const std::byte* from, std::size_t bytes,
                                  std::vector<std::byte>& held) override;
  void move_slots(const KvCache& cache, std::int64_t base, std::span<const std::int32_t> path) override;
  void clear_slots(const KvCache& cache, Range slots) override;
  void clear_records(const KvCache& cache, Range slots) override;
};

}  // namespace augur
