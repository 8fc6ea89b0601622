#include "serve/worker.h"

#include <utility>

namespace augur {

void Worker::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    more_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Worker::add(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  more_.notify_one();
}

void Worker::run() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace augur
