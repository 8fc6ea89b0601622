#pragma once
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace augur::testing_support {

/// No test passes or fails by how long something takes: the bound is far beyond any machine's and only turns
/// a wait for ever into a failure that says where.
constexpr std::chrono::minutes kForEver{2};

/// Whether what is promised comes.
template <class T>
bool comes(const std::future<T>& future) {
  return future.wait_for(kForEver) == std::future_status::ready;
}

/// What is promised. Throws where it does not come.
template <class T>
T awaited(std::future<T> future) {
  if (!comes(future)) throw std::runtime_error("what was promised has not come");
  return future.get();
}

/// Waits until `condition`, of which `changed` tells. Throws where that never is.
template <class Condition>
void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Condition condition) {
  if (!changed.wait_for(lock, kForEver, condition)) throw std::runtime_error("what was waited for never is");
}

/// Whether `condition` comes true, of whose changes nobody tells.
template <class Condition>
bool poll_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kForEver;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace augur::testing_support
