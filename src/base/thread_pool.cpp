#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

#include "base/error.h"

namespace augur {

namespace {

constexpr int kMaxThreads = 1024;
constexpr int kSpinsBeforeYield = 1 << 14;
constexpr int kSpinsBeforeSleep = 1 << 15;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  return cpus;
}

void pin_to(pthread_t thread, int rank, const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpus[static_cast<std::size_t>(rank) % cpus.size()], &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
}

int thread_count(int requested) {
  if (requested < 0 || requested > kMaxThreads) {
    throw Error("threads: {} is not a count between 0 (automatic) and {}", requested, kMaxThreads);
  }
  if (requested > 0) return requested;
  const std::size_t cpus = allowed_cpus().size();
  return cpus > 0 ? static_cast<int>(cpus) : 1;
}

}  // namespace

Range split_range(std::int64_t count, int rank, int size, std::int64_t grain) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const std::int64_t begin = grains * rank / size * grain;
  const std::int64_t end = grains * (rank + 1) / size * grain;
  return {std::min(begin, count), std::min(end, count)};
}

void SpinBarrier::wait() {
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    return;
  }
  for (int spins = 0; phase_.load(std::memory_order_acquire) == phase;) {
    if (++spins < kSpinsBeforeYield) {
      relax();
    } else {
      sched_yield();
    }
  }
}

ThreadPool::ThreadPool(int threads, bool pin) : size_(thread_count(threads)), barrier_(size_) {
  // Read once, before any thread is pinned: a pinned thread's own affinity is a single core.
  if (pin) cpus_ = allowed_cpus();
  pin_to(pthread_self(), 0, cpus_);
  workers_.reserve(static_cast<std::size_t>(size_ - 1));
  for (int rank = 1; rank < size_; ++rank) workers_.emplace_back([this, rank] { worker(rank); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_region(RegionFn fn, void* context) {
  const std::lock_guard lock(region_mutex_);
  fn_ = fn;
  context_ = context;
  running_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  if (size_ > 1) generation_.notify_all();
  Team team(0, size_, barrier_);
  fn(context, team);
  for (int spins = 0; running_.load(std::memory_order_acquire) != 0;) {
    if (++spins < kSpinsBeforeYield) {
      relax();
    } else {
      sched_yield();
    }
  }
}

void ThreadPool::worker(int rank) {
  pin_to(pthread_self(), rank, cpus_);
  std::uint32_t seen = 0;
  while (true) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen && spins < kSpinsBeforeSleep;
         ++spins)
      relax();
    generation_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    Team team(rank, size_, barrier_);
    fn_(context_, team);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace augur
