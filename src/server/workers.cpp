#include "server/workers.h"

#include <utility>

namespace augur {

Workers::Workers(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    const auto [client, first] = waiting_.try_emplace(job.client);
    if (first) turns_.push_back(job.client);
    client->second.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Workers::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turns_.empty() && running_ == 0; });
}

/// With the mutex held.
Workers::Job Workers::take_next() {
  std::string client = std::move(turns_.front());
  turns_.pop_front();
  const auto own = waiting_.find(client);
  Job job = std::move(own->second.front());
  own->second.pop_front();
  if (own->second.empty()) {
    waiting_.erase(own);
  } else {
    turns_.push_back(std::move(client));
  }
  return job;
}

void Workers::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !turns_.empty(); });
    if (ending_) return;
    Job job = take_next();
    ++running_;
    lock.unlock();
    if (!job.abandoned()) job.run();
    job = {};  // what it holds is let go before it counts as done
    lock.lock();
    --running_;
    changed_.notify_all();
  }
}

}  // namespace augur
