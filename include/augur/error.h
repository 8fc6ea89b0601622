#pragma once
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace augur {
/// A format string that is checked when the library is compiled, which alone completes it.
template <class... Args>
class ErrorFormat;
inline namespace abi1 {

/// What is wrong, for programs; the message is for people. The numbers are those of the C interface
/// (augur_error_kind) and stay.
enum class ErrorKind {
  NotFound = 1,      ///< a file, a model or a part of one is not there, or cannot be opened or written
  Malformed = 2,     ///< a file or a text is not what its format says
  Unsupported = 3,   ///< it is sound, but of a kind that this version, build or processor does not do
  OutOfMemory = 4,   ///< memory or threads: the system has refused them, or a limit has
  ContextFull = 5,   ///< a text is longer than the model's context
  RefusedField = 6,  ///< an option or a request's field has a value that it cannot have
  Cancelled = 7,     ///< it was given up, by whom it was asked for or because its time was over
  QueueFull = 8,     ///< as many wait as may: try again later
  Misuse = 9,        ///< the caller has broken a rule of the interface, as of threads or callbacks
  Internal = 10,     ///< anything else, exceptions of callbacks among them
};

/// Kind, and the field that is to blame.
struct ErrorCause {
  ErrorCause(ErrorKind of) : kind(of) {}  // NOLINT(google-explicit-constructor): stands in for the pair
  ErrorCause(ErrorKind of, std::string in) : kind(of), field(std::move(in)) {}

  ErrorKind kind;
  std::string field;  ///< of the options or of the request; empty: none, or it is not known
};

/// What the library throws, beside std::bad_alloc: something is not as it must be. The message names it
/// (file, tensor, field, rule) and says what was expected. What callers' own callbacks throw passes through
/// as it is.
class Error : public std::runtime_error {
 public:
  /// Of kind Malformed.
  explicit Error(const std::string& message);
  Error(ErrorCause cause, const std::string& message);
  ~Error() override;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;

  /// For the library itself.
  template <class... Args>
  explicit Error(std::type_identity_t<ErrorFormat<Args...>> format, Args&&... args);
  template <class... Args>
  Error(ErrorCause cause, std::type_identity_t<ErrorFormat<Args...>> format, Args&&... args);

  ErrorKind kind() const noexcept { return cause_.kind; }
  const std::string& field() const noexcept { return cause_.field; }
  const ErrorCause& cause() const noexcept { return cause_; }

 private:
  ErrorCause cause_;
};

/// Of kind QueueFull.
class QueueFull : public Error {
 public:
  explicit QueueFull(const std::string& message);
  ~QueueFull() override;
  QueueFull(const QueueFull&) = default;
  QueueFull& operator=(const QueueFull&) = default;
};

}  // namespace abi1
}  // namespace augur
