#pragma once
#include <fmt/format.h>

#include <concepts>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "augur/error.h"

// The one exception of the project, with the constructors that format: something outside the program (a file,
// an option, a request, the machine) is not as it must be. The message names it and says what was expected.
// Broken invariants of our own are assertions, not Errors.

namespace augur {

template <class... Args>
class ErrorFormat {
 public:
  template <class Text>
  requires std::convertible_to<const Text&, std::string_view>
  consteval ErrorFormat(const Text& text)  // NOLINT(google-explicit-constructor): from literals
      : text_(text) {}

  const fmt::format_string<Args...>& text() const { return text_; }

 private:
  fmt::format_string<Args...> text_;
};

template <class... Args>
__attribute__((visibility("hidden")))
Error::Error(std::type_identity_t<ErrorFormat<Args...>> format, Args&&... args)
    : Error(fmt::format(format.text(), std::forward<Args>(args)...)) {}

template <class... Args>
__attribute__((visibility("hidden")))
Error::Error(ErrorCause cause, std::type_identity_t<ErrorFormat<Args...>> format, Args&&... args)
    : Error(std::move(cause), fmt::format(format.text(), std::forward<Args>(args)...)) {}

/// An option or a request's field has a value that it cannot have.
inline ErrorCause refused(std::string field) {
  return {ErrorKind::RefusedField, std::move(field)};
}

/// What was thrown, in words, for those who pass on what others throw: an exception's message, or what else
/// can be said. `thrown` is not null.
std::string describe(const std::exception_ptr& thrown);

/// The same for programs: an Error's; OutOfMemory for std::bad_alloc; otherwise Internal.
ErrorCause cause_of(const std::exception_ptr& thrown);

/// Whether memory or threads were refused. `thrown` is not null.
bool is_want_of_memory(const std::exception_ptr& thrown);

/// Whether errors of this kind are about what the caller has given: another file, option or request may do.
bool blames_caller(ErrorKind kind);

}  // namespace augur
