#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/core_watch.h"

namespace augur {

/// Half-open range of work items.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

/// The part of [0, count) that belongs to `rank` of `size`: contiguous, balanced to one grain, boundaries on
/// multiples of `grain`. Depends on nothing else, so partitions are reproducible.
Range split_range(std::int64_t count, int rank, int size, std::int64_t grain = 1);

/// Waits until `value` is no longer `old`: spins, because what is waited for is microseconds away, then
/// sleeps. Who changes the value notifies all.
template <class T>
void spin_then_wait(const std::atomic<T>& value, T old, int spins) {
  for (; spins > 0; --spins) {
    if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
}

/// A barrier for the threads of a region. Its waiters spin before they sleep.
class SpinBarrier {
 public:
  SpinBarrier(int parties, int spins) : parties_(parties), spins_(spins) {}
  void wait();
  /// While nobody waits.
  void set_parties(int parties) { parties_ = parties; }

 private:
  int parties_;
  const int spins_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
};

/// One thread's view of a parallel region.
class Team {
 public:
  Team(int rank, int size, SpinBarrier& barrier) : rank_(rank), size_(size), barrier_(barrier) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Every thread of the region must call it equally often. What was written before it is seen after it.
  void barrier() {
    if (size_ > 1) barrier_.wait();
  }
  Range split(std::int64_t count, std::int64_t grain = 1) const {
    return split_range(count, rank_, size_, grain);
  }

 private:
  int rank_;
  int size_;
  SpinBarrier& barrier_;
};

/// A fixed team of threads for parallel regions. A whole forward pass is one region with barriers inside, so
/// threads are woken once a pass. Regions started from several threads run one after the other: sessions that
/// share a pool never oversubscribe the machine. Who waits spins briefly, then sleeps; a pool of more threads
/// than cores does not spin. Own code: OpenMP's team is the process's, not a caller's, and how it waits is
/// the environment's choice.
class ThreadPool {
 public:
  /// `threads` counts the caller; 0: usable_cpus() of base/affinity.h. `pin` binds rank i to the i-th core
  /// that the caller may use, the caller itself while a region runs. Error for a negative or absurd count,
  /// and for threads that the system does not start or bind. `company`: what make_way() goes by.
  explicit ThreadPool(int threads = 0, bool pin = false,
                      CoreWatch::Source company = CoreWatch::Source::system());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }  ///< threads of a region, at most

  /// Fits the team to the cores that others leave: fewer threads than size() take part in regions while
  /// another process keeps a core busy. Results do not depend on it. To be called between steps, from any
  /// thread; it looks at the machine a few times a second.
  void make_way();

  /// Runs body(Team&) once on every thread of the team, the caller being rank 0, and returns when all are
  /// done. `body` must not throw (a thrown exception terminates) and must not start another region on this
  /// pool.
  template <class Body>
  void run(Body&& body) {
    using Fn = std::remove_reference_t<Body>;
    run_region([](void* context, Team& team) noexcept { (*static_cast<Fn*>(context))(team); },
               const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using RegionFn = void (*)(void*, Team&) noexcept;
  void run_region(RegionFn fn, void* context);
  void worker(int rank);
  void stop();

  struct Worker {
    alignas(64) std::atomic<std::uint32_t> regions{0};  ///< that it has been called to
    std::thread thread;
  };

  const std::vector<int> cpus_;  ///< that the creator may use
  const bool pin_;
  const int size_;
  const int spins_;
  std::mutex region_mutex_;
  CoreWatch watch_;
  int team_;  ///< threads of the next region
  SpinBarrier barrier_;
  RegionFn fn_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  std::vector<Worker> workers_;  ///< of ranks 1, 2, ...
};

}  // namespace augur
