#include "cli/watchdog.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/start_thread.h"

namespace augur::cli {

Watchdog::Watchdog(std::vector<Ask> threads) {
  for (Ask& ask : threads) {
    threads_.push_back({.ask = std::move(ask), .answered = std::make_shared<std::atomic<bool>>(true)});
  }
}

Watchdog::Watchdog(std::vector<Ask> threads, std::chrono::microseconds period, std::function<void()> all_well)
    : Watchdog(std::move(threads)) {
  thread_ = start_thread("augur-watchdog", [this, period, all_well = std::move(all_well)] {
    std::unique_lock lock(mutex_);
    do {
      try {
        if (look()) all_well();
      } catch (const std::bad_alloc&) {  // then all is not well
      }
    } while (!end_.wait_for(lock, period, [this] { return ended_; }));
  });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    end_.notify_one();
  }
  thread_.join();
}

bool Watchdog::look() {
  const bool all =
      std::all_of(threads_.begin(), threads_.end(), [](const Asked& a) { return a.answered->load(); });
  if (!all) return false;
  for (const Asked& asked : threads_) {
    asked.answered->store(false);
    asked.ask([answered = asked.answered] { answered->store(true); });
  }
  return true;
}

}  // namespace augur::cli
