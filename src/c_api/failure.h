#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>

namespace augur::c_api {

/// Makes what was thrown the thread's last failure. A thread that has no memory for the words has the kind.
void note(const std::exception_ptr& thrown) noexcept;
/// The thread's last call has not failed.
void forget_failure() noexcept;

/// Runs `body`; an exception becomes `failure` and the thread's last error. If it returns, there is none,
/// also where a call in a callback has failed.
template <class Body, class Value = std::invoke_result_t<Body>>
Value guarded(Body&& body, Value failure = {}) noexcept {
  try {
    forget_failure();
    Value value = body();
    forget_failure();
    return value;
  } catch (...) {
    note(std::current_exception());
  }
  return failure;
}

/// The same for a number: -1 on failure.
template <class Body>
std::int64_t number(Body&& body) noexcept {
  return guarded([&] { return static_cast<std::int64_t>(body()); }, std::int64_t{-1});
}

/// The same for what gives nothing back: 0, or -1 on failure.
template <class Body>
std::int32_t status(Body&& body) noexcept {
  return guarded(
      [&] {
        body();
        return std::int32_t{0};
      },
      std::int32_t{-1});
}

/// The same for one of `count`: 1, or 0 where there is none of this index.
template <class Body>
std::int32_t answer_one(std::size_t index, std::size_t count, Body&& body) noexcept {
  return guarded(
      [&] {
        if (index >= count) return std::int32_t{0};
        body();
        return std::int32_t{1};
      },
      std::int32_t{-1});
}

}  // namespace augur::c_api
