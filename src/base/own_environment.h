#pragma once
#include <functional>
#include <utility>

namespace augur {

/// For as long as it lives, its thread computes and reads numbers as the library does on every machine: it
/// rounds to nearest, denormal numbers are numbers, no operation traps, and the thread's locale is "C". At
/// the end all of this is as the host had it. Within another one it does nothing.
///
/// std::locale::global() is not a thread's: streams that write or read numbers are given
/// std::locale::classic().
class OwnEnvironment {
 public:
  OwnEnvironment();
  ~OwnEnvironment();
  OwnEnvironment(const OwnEnvironment&) = delete;
  OwnEnvironment& operator=(const OwnEnvironment&) = delete;

 private:
  const bool nested_;
};

/// The host's again, for as long as a callback of the host runs. What that changes of it, stays the host's.
/// Outside of an OwnEnvironment it does nothing.
class HostEnvironment {
 public:
  HostEnvironment();
  ~HostEnvironment();
  HostEnvironment(const HostEnvironment&) = delete;
  HostEnvironment& operator=(const HostEnvironment&) = delete;

 private:
  const bool inside_;
};

/// A callback of the host, which is called in the host's environment. Empty where `callback` is.
template <class Result, class... Args>
std::function<Result(Args...)> hosted(std::function<Result(Args...)> callback) {
  if (!callback) return callback;
  return [callback = std::move(callback)](Args... args) -> Result {
    const HostEnvironment host;
    return callback(std::forward<Args>(args)...);
  };
}

}  // namespace augur
