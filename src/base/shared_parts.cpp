#include "base/shared_parts.h"

#include <chrono>
#include <utility>

namespace augur {

namespace {

using Milliseconds = std::chrono::milliseconds;

/// How often a thread that waits looks up, so that its progress callback can end the load.
constexpr Milliseconds kLook{20};
/// A thread that gets on tells more of it far sooner.
constexpr Milliseconds kPatience{5000};

}  // namespace

SharedParts& SharedParts::of_process() {
  static std::atomic<SharedParts*> current{nullptr};
  SharedParts* found = current.load();
  while (found == nullptr || !found->process_.here()) {
    std::unique_ptr<SharedParts> fresh(new SharedParts);
    fresh->parents_ = found;
    if (current.compare_exchange_strong(found, fresh.get())) return *fresh.release();
  }
  return *found;
}

SharedParts::Parts SharedParts::get(const std::string& key, const Make& make, const Progress& progress) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto it = entries_.find(key);
    if (it == entries_.end()) return make_and_keep(key, make, progress, lock);
    if (const std::shared_ptr<Loading> loading = it->second.loading) {
      const bool within_itself = loading->thread == std::this_thread::get_id();
      if (within_itself || !wait_for(*loading, key, lock, progress)) {
        lock.unlock();
        return make(progress);
      }
      continue;
    }
    if (Parts parts = alive(it->second); !parts.empty()) {
      lock.unlock();
      if (progress) progress(1.0);
      return parts;
    }
    return make_and_keep(key, make, progress, lock);
  }
}

SharedParts::Parts SharedParts::alive(const Entry& entry) {
  Parts parts;
  for (const std::weak_ptr<void>& weak : entry.parts) {
    std::shared_ptr<void> part = weak.lock();
    if (part == nullptr) return {};
    parts.push_back(std::move(part));
  }
  return parts;
}

bool SharedParts::wait_for(const Loading& loading, const std::string& key, std::unique_lock<std::mutex>& lock,
                           const Progress& progress) {
  const auto going_on = [&] {
    const auto it = entries_.find(key);
    return it != entries_.end() && it->second.loading.get() == &loading;
  };
  double seen = -1;
  Milliseconds still{0};
  while (going_on()) {
    if (const double now = loading.fraction; now != seen) {
      seen = now;
      still = Milliseconds{0};
    } else if (still >= kPatience) {
      return false;
    }
    if (progress) {
      lock.unlock();
      progress(seen);
      lock.lock();
      if (!going_on()) break;
    }
    ended_.wait_for(lock, kLook);
    still += kLook;
  }
  return true;
}

SharedParts::Parts SharedParts::make_and_keep(const std::string& key, const Make& make,
                                              const Progress& progress, std::unique_lock<std::mutex>& lock) {
  tidy();
  const auto loading = std::make_shared<Loading>();
  entries_[key] = {.parts = {}, .loading = loading};
  lock.unlock();
  Parts parts;
  try {
    parts = make([&](double fraction) {
      loading->fraction = fraction;
      if (progress) progress(fraction);
    });
    lock.lock();
    entries_[key] = {.parts = {parts.begin(), parts.end()}, .loading = nullptr};
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    entries_.erase(key);
    ended_.notify_all();
    throw;
  }
  ended_.notify_all();
  return parts;
}

void SharedParts::tidy() {
  std::erase_if(entries_, [](const auto& entry) {
    return entry.second.loading == nullptr && alive(entry.second).empty();
  });
}

}  // namespace augur
