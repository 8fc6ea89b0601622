#pragma once
#include <chrono>
#include <future>

namespace augur::testing_support {

/// Whether what is promised comes. No test passes or fails by how long it takes: the bound is far beyond any
/// machine's and only turns a wait for ever into a failure that says where.
template <class T>
bool comes(const std::future<T>& future) {
  return future.wait_for(std::chrono::minutes(2)) == std::future_status::ready;
}

}  // namespace augur::testing_support
