#include "serve/job_pool.h"

#include <utility>

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
  if (idle_ < jobs_.size() && threads_.size() < most_) threads_.emplace_back([this] { run(); });
  more_.notify_one();
}

void JobPool::run() {
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
