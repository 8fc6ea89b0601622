#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace augur {

/// Does jobs one after another on a thread of its own, which is there from the first job on. Any thread.
class Worker {
 public:
  Worker() = default;
  ~Worker() { finish(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// `job` throws nothing. Not after finish().
  void add(std::function<void()> job);
  /// Returns when all jobs are done.
  void finish();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace augur
