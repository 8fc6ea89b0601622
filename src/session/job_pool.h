#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace augur {

/// Does jobs on threads of its own, in the order in which they came; a thread is there from the first job on
/// that finds no other idle. Any thread.
class JobPool {
 public:
  explicit JobPool(int threads) : most_(static_cast<std::size_t>(threads)) {}
  ~JobPool() { finish(); }
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;

  /// `job` throws nothing. Throws where there is no memory for it, or no thread at all. Not after finish().
  void add(std::function<void()> job);
  /// Returns when all jobs are done.
  void finish();

 private:
  void start_thread();
  void run();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> jobs_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace augur
