#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace augur {

/// Runs jobs on its own threads, in the order in which they were added. A thread is started when a job finds
/// no idle one, up to `threads`. Any thread may call add().
class JobPool {
 public:
  /// `name`: of the threads (start_thread()). `begin`: what each does first; may be empty.
  JobPool(int threads, const char* name, std::function<void()> begin = {})
      : most_(static_cast<std::size_t>(threads)), name_(name), begin_(std::move(begin)) {}
  ~JobPool() { finish(); }
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;

  /// `job` must not throw. Throws if there is no memory for the job, or if no thread at all could be started.
  /// Must not be called after finish().
  void add(std::function<void()> job);
  /// Returns when all jobs have been done.
  void finish();

 private:
  void start_thread();
  void run();

  const std::size_t most_;
  const char* const name_;
  const std::function<void()> begin_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> jobs_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace augur
