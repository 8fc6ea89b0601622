#pragma once
#include <exception>
#include <type_traits>

namespace augur::c_api {

/// Makes what was thrown the thread's last failure. A thread that has no memory for the words has the kind.
void note(const std::exception_ptr& thrown) noexcept;
/// The thread's last call has not failed.
void forget_failure() noexcept;

/// Runs `body`; an exception becomes `failure` and the thread's last error.
template <class Body, class Value = std::invoke_result_t<Body>>
Value guarded(Body&& body, Value failure = {}) noexcept {
  try {
    forget_failure();
    return body();
  } catch (...) {
    note(std::current_exception());
  }
  return failure;
}

}  // namespace augur::c_api
