#include "session/job_pool.h"

#include <utility>

#include "base/start_thread.h"

namespace augur {

void JobPool::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    more_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void JobPool::add(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < most_) start_thread();
  more_.notify_one();
}

/// Without one more the others do the job; without any it is not taken. With the mutex held.
void JobPool::start_thread() {
  try {
    threads_.push_back(augur::start_thread(name_, [this] { run(); }));
  } catch (...) {
    if (!threads_.empty()) return;
    jobs_.pop_back();
    throw;
  }
}

void JobPool::run() {
  if (begin_) begin_();
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    more_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    const std::function<void()> job = std::exchange(jobs_.front(), nullptr);
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace augur
