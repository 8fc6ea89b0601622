#pragma once
#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

#include "augur/log.h"

namespace augur {

/// Where a part of the library tells what it does: the host's callback, or nowhere. Nothing is formatted for
/// nobody. Copies write to the same place.
class Log {
 public:
  Log() = default;
  /// `callback`: hosted, may be empty.
  explicit Log(LogCallback callback) : callback_(std::move(callback)) {}

  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::Debug, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::Info, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::Warning, format, std::forward<Args>(args)...);
  }
  explicit operator bool() const { return static_cast<bool>(callback_); }

 private:
  template <class... Args>
  void write(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (callback_) callback_(level, fmt::format(format, std::forward<Args>(args)...));
  }

  LogCallback callback_;
};

}  // namespace augur
