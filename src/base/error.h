#pragma once
#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace augur {

/// The one exception of the project: something outside the program (a file, an option, a request, the
/// machine) is not as it must be. The message names it and says what was expected. Broken invariants of our
/// own are assertions, not Errors.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}

  template <class... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// What was thrown, in words, for those who pass on what others throw: an exception's message, or what else
/// can be said. `thrown` is not null.
std::string describe(const std::exception_ptr& thrown);

}  // namespace augur
