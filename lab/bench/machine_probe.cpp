#include "lab/bench/machine_probe.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "kernels/gemm_dispatch.h"

namespace augur {

namespace {

constexpr std::int64_t kLine = 64;

/// Touches one word of every line of [data, data + lines * 64) and returns their sum.
template <int kStreams>
std::uint64_t read_lines(const std::byte* data, std::int64_t lines, const ReadPattern& pattern) {
  std::uint64_t sums[kStreams] = {};
  const std::int64_t segment = std::min(pattern.segment_bytes / kLine, lines / kStreams);
  const auto word = [](const std::byte* line) { return *reinterpret_cast<const std::uint64_t*>(line); };
  std::int64_t done = 0;
  for (; segment > 0 && done + kStreams * segment <= lines; done += kStreams * segment) {
    const std::byte* group = data + done * kLine;
    for (std::int64_t i = 0; i < segment; ++i) {
      // Past the end of the segments the streams go on with the next group.
      const std::int64_t seam = (i * kLine + pattern.prefetch_bytes) / (segment * kLine);
      const std::byte* ahead = group + pattern.prefetch_bytes + seam * (kStreams - 1) * segment * kLine;
      for (int s = 0; s < kStreams; ++s) {
        const std::int64_t offset = (s * segment + i) * kLine;
        if (pattern.prefetch_bytes != 0) __builtin_prefetch(ahead + offset, 0, 3);
        sums[s] += word(group + offset);
      }
    }
  }
  for (; done < lines; ++done) sums[0] += word(data + done * kLine);
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  return sum;
}

std::uint64_t read_pattern(const std::byte* data, std::int64_t lines, const ReadPattern& pattern) {
  switch (pattern.streams) {
    case 2:
      return read_lines<2>(data, lines, pattern);
    case 4:
      return read_lines<4>(data, lines, pattern);
    case 8:
      return read_lines<8>(data, lines, pattern);
    default:
      return read_lines<1>(data, lines, pattern);
  }
}

}  // namespace

double median(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  if (values.size() % 2 == 1) return values[middle];
  const double below =
      *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle));
  return (below + values[middle]) / 2;
}

ReadProbe::ReadProbe(ThreadPool& pool, std::size_t cache_bytes)
    : pool_(pool), memory_(std::max<std::size_t>(4 * cache_bytes, 4 * kPieceBytes)) {
  std::memset(memory_.data(), 1, memory_.size());  // untouched pages are all the same page of zeros
  constexpr int kRounds = 5;
  constexpr std::size_t kKept = 3;
  struct Candidate {
    ReadPattern pattern;
    std::vector<double> rates;
  };
  std::vector<Candidate> candidates;
  for (const int streams : {1, 2, 4, 8}) {
    for (const std::int64_t segment : {16 << 10, 128 << 10, 1 << 20}) {
      for (const std::int64_t prefetch : {0, 2 << 10, 8 << 10}) {
        candidates.push_back({{streams, segment, prefetch}, {}});
      }
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Candidate& c : candidates) c.rates.push_back(measure(c.pattern));
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return median(a.rates) > median(b.rates); });
  for (std::size_t i = 0; i < kKept; ++i) patterns_.push_back(candidates[i].pattern);
}

double ReadProbe::measure() {
  double best = 0;
  for (const ReadPattern& pattern : patterns_) best = std::max(best, measure(pattern));
  return best;
}

double ReadProbe::measure(const ReadPattern& pattern) {
  constexpr std::int64_t lines = kPieceBytes / kLine;
  const std::byte* piece = memory_.data() + turn_++ % (memory_.size() / kPieceBytes) * kPieceBytes;
  std::atomic<std::uint64_t> sink{0};
  const double ms = time_region(pool_, [&](Team& team) {
    const Range part = team.split(lines);
    sink.fetch_add(read_pattern(piece + part.begin * kLine, part.size(), pattern), std::memory_order_relaxed);
  });
  return static_cast<double>(lines * kLine) / ms * 1e-6;
}

double measure_peak_gflops(Backend& backend, DType type, double ms) {
  const PeakFn peak = peak_kernel(backend.kernels.isa, type);
  std::int64_t rounds = 256;
  while (true) {
    std::atomic<std::int64_t> flops{0};
    const double elapsed = time_region(backend.pool, [&](Team&) {
      alignas(64) float sink[16];
      flops.fetch_add(peak(rounds, sink), std::memory_order_relaxed);
    });
    if (elapsed >= ms / 2) return static_cast<double>(flops.load()) / elapsed * 1e-6;
    rounds =
        elapsed > 0.01 ? static_cast<std::int64_t>(static_cast<double>(rounds) * ms / elapsed) : rounds * 16;
  }
}

std::size_t last_level_cache_bytes() {
  long bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
  return bytes > 0 ? static_cast<std::size_t>(bytes) : std::size_t{32} << 20;
}

}  // namespace augur
