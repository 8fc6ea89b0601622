#pragma once
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>

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

}  // namespace augur::testing_support
