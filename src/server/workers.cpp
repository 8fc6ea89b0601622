#include "server/workers.h"

#include <utility>

namespace augur {

Workers::~Workers() {
  std::map<std::string, std::deque<Job>> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
    turns_.clear();
  }
  pool_.finish();
}

void Workers::submit(Job job) {
  const std::lock_guard lock(mutex_);
  pool_.add([this] { run_next(); });  // first: where it throws, the job is not taken
  const auto [client, first] = waiting_.try_emplace(job.client);
  if (first) turns_.push_back(job.client);
  client->second.push_back(std::move(job));
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

void Workers::run_next() {
  std::unique_lock lock(mutex_);
  if (turns_.empty()) return;  // this is ending
  Job job = take_next();
  ++running_;
  lock.unlock();
  if (!job.abandoned()) job.run();
  job = {};  // what it holds is let go before it counts as done
  lock.lock();
  --running_;
  changed_.notify_all();
}

}  // namespace augur
