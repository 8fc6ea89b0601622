#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/dtype.h"
#include "kernels/backend.h"

namespace augur {

/// Size of the largest cache in bytes; a guess of 32 MiB where the system does not say.
std::size_t last_level_cache_bytes();

/// The middle value (the mean of the two middle ones for an even count). `values` must not be empty.
double median(std::vector<double> values);

/// Time of one parallel region in milliseconds: all threads leave a barrier together, run body(team), and the
/// clock stops when the last is done. Waking the threads is not counted.
template <class Body>
double time_region(ThreadPool& pool, Body&& body);

/// How a thread walks over its part of the memory when the read bandwidth is measured: `streams` neighbouring
/// segments are read side by side, then the next so many.
struct ReadPattern {
  int streams = 1;
  std::int64_t segment_bytes = 0;   ///< multiple of 64
  std::int64_t prefetch_bytes = 0;  ///< how far ahead in each stream; 0 leaves it to the hardware
};

/// Read bandwidth of this machine with all threads of a pool. It has memory of its own, several times the
/// largest cache, and goes through it in pieces: what one pass has brought into the caches is gone before the
/// next pass over the same piece, and so is whatever else was read before.
class ReadProbe {
 public:
  /// Tries many patterns and keeps the fastest few; `cache_bytes`: of the largest cache.
  explicit ReadProbe(ThreadPool& pool, std::size_t cache_bytes = last_level_cache_bytes());
  /// GB/s (1e9 bytes): the best of one pass with each kept pattern, over a piece each.
  double measure();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 20;  ///< some milliseconds
  double measure(const ReadPattern& pattern);

  ThreadPool& pool_;
  Buffer<std::byte> memory_;
  std::size_t turn_ = 0;
  std::vector<ReadPattern> patterns_;
};

/// Rate of the backend's dot-product instruction for `type`, from registers, on all threads: GFLOP/s.
/// Takes about `ms` milliseconds.
double measure_peak_gflops(Backend& backend, DType type, double ms = 2.0);

template <class Body>
double time_region(ThreadPool& pool, Body&& body) {
  double elapsed = 0;
  pool.run([&](Team& team) {
    team.barrier();
    const Stopwatch watch;
    body(team);
    team.barrier();
    if (team.rank() == 0) elapsed = watch.ms();
  });
  return elapsed;
}

}  // namespace augur
