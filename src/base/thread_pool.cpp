#include "base/thread_pool.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/affinity.h"
#include "base/control_group.h"
#include "base/error.h"
#include "base/start_thread.h"

namespace augur {

namespace {

constexpr int kMaxThreads = 1024;
/// Some 100 us: more than the parts of a phase differ, less than a time slice that others could use.
constexpr int kBarrierSpins = 1 << 11;
constexpr int kSpinsBetweenRegions = 1 << 15;

/// Of changes that others may sleep for. notify() wakes nobody where it sees nobody asleep; it must not look
/// before the change is there for all to see, and a release alone (on x86 a plain store) may still wait in
/// this core's buffer then: who goes to sleep meanwhile would sleep for ever.
constexpr std::memory_order kBeforeNotify = std::memory_order_seq_cst;

/// Binds the calling thread to a core; at the end it may run where it could before.
class BoundHere {
 public:
  explicit BoundHere(int cpu) : before_(allowed_cpus()) {
    if (!before_.empty()) bind_thread(std::span(&cpu, 1));
  }
  ~BoundHere() {
    if (!before_.empty()) bind_thread(before_);
  }
  BoundHere(const BoundHere&) = delete;
  BoundHere& operator=(const BoundHere&) = delete;

 private:
  const std::vector<int> before_;
};

Error cannot_bind(int cpu, int error) {
  return Error(refused("threads"), "threads: one cannot be bound to processor {}: {}", cpu,
               std::strerror(error));
}

/// Error where not every thread can have a processor of its own, the caller's being the first.
void check_bindable(const std::vector<int>& cpus, int threads) {
  if (static_cast<std::size_t>(threads) > cpus.size()) {
    throw Error(refused("threads"),
                "threads: {} cannot be bound to a processor each, as this process may use {}", threads,
                cpus.size());
  }
  const int error = bind_thread(std::span(cpus).first(1));
  if (error == 0) bind_thread(cpus);
  if (error != 0) throw cannot_bind(cpus.front(), error);
}

int usable(std::size_t allowed) {
  return usable_cpus(allowed, group_limits().cpus);
}

int thread_count(int requested, std::size_t allowed) {
  if (requested < 0 || requested > kMaxThreads) {
    throw Error(refused("threads"), "threads: {} is not a count between 0 (automatic) and {}", requested,
                kMaxThreads);
  }
  return requested > 0 ? requested : std::min(usable(allowed), kMaxThreads);
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
    phase_.store(phase + 1, kBeforeNotify);
    phase_.notify_all();
    return;
  }
  spin_then_wait(phase_, phase, spins_);
}

ThreadPool::ThreadPool(int threads, bool pin, CoreWatch::Source company)
    : cpus_(allowed_cpus()),
      pin_(pin),
      size_(thread_count(threads, cpus_.size())),
      spins_(size_ > usable(cpus_.size()) ? 0 : kBarrierSpins),
      watch_(cpus_, std::move(company)),
      team_(size_),
      barrier_(size_, spins_),
      workers_(static_cast<std::size_t>(size_ - 1)) {
  if (pin_) check_bindable(cpus_, size_);
  int rank = 1;
  try {
    for (; rank < size_; ++rank)
      workers_[static_cast<std::size_t>(rank - 1)].thread =
          start_thread("augur-team", [this, rank] { worker(rank); });
  } catch (const Error& error) {
    stop();
    throw Error(error.cause(), "threads: only {} of {} could be started: {}", rank, size_, error.what());
  }
  for (std::size_t i = 0; pin_ && i < workers_.size(); ++i) {
    const int error = bind_thread(workers_[i].thread, std::span(&cpus_[i + 1], 1));
    if (error == 0) continue;
    stop();
    throw cannot_bind(cpus_[i + 1], error);
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  stop_.store(true, std::memory_order_relaxed);
  for (Worker& worker : workers_) {
    if (!worker.thread.joinable()) continue;
    worker.regions.fetch_add(1, kBeforeNotify);
    worker.regions.notify_one();
    worker.thread.join();
  }
}

void ThreadPool::make_way() {
  // More threads than cores share them anyway.
  if (size_ == 1 || static_cast<std::size_t>(size_) > cpus_.size()) return;
  const std::lock_guard lock(region_mutex_);
  if (const std::optional<int> cores = watch_.look()) team_ = std::min(*cores, size_);
}

void ThreadPool::run_region(RegionFn fn, void* context) {
  const std::lock_guard lock(region_mutex_);
  std::optional<BoundHere> bound;
  if (pin_) bound.emplace(cpus_[0]);
  fn_ = fn;
  context_ = context;
  running_.store(team_ - 1, std::memory_order_relaxed);
  barrier_.set_parties(team_);
  for (int rank = 1; rank < team_; ++rank) {
    Worker& called = workers_[static_cast<std::size_t>(rank - 1)];
    called.regions.fetch_add(1, kBeforeNotify);
    called.regions.notify_one();
  }
  Team team(0, team_, barrier_);
  fn(context, team);
  while (const int left = running_.load(std::memory_order_acquire)) spin_then_wait(running_, left, spins_);
}

void ThreadPool::worker(int rank) {
  const std::atomic<std::uint32_t>& regions = workers_[static_cast<std::size_t>(rank - 1)].regions;
  std::uint32_t seen = 0;
  while (true) {
    spin_then_wait(regions, seen, spins_ > 0 ? kSpinsBetweenRegions : 0);
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    Team team(rank, team_, barrier_);
    fn_(context_, team);
    running_.fetch_sub(1, kBeforeNotify);
    running_.notify_one();
  }
}

}  // namespace augur
