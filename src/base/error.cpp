#include "base/error.h"

#include <new>

namespace augur {

Error::Error(const std::string& message) : Error(ErrorKind::Malformed, message) {}
Error::Error(ErrorCause cause, const std::string& message)
    : std::runtime_error(message), cause_(std::move(cause)) {}
Error::~Error() = default;

QueueFull::QueueFull(const std::string& message) : Error(ErrorKind::QueueFull, message) {}
QueueFull::~QueueFull() = default;

std::string describe(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown failure";
  }
}

ErrorCause cause_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error.cause();
  } catch (const std::bad_alloc&) {
    return ErrorKind::OutOfMemory;
  } catch (...) {
    return ErrorKind::Internal;
  }
}

bool is_want_of_memory(const std::exception_ptr& thrown) {
  return cause_of(thrown).kind == ErrorKind::OutOfMemory;
}

bool blames_caller(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::NotFound:
    case ErrorKind::Malformed:
    case ErrorKind::Unsupported:
    case ErrorKind::ContextFull:
    case ErrorKind::RefusedField:
      return true;
    case ErrorKind::OutOfMemory:
    case ErrorKind::Cancelled:
    case ErrorKind::QueueFull:
    case ErrorKind::Misuse:
    case ErrorKind::Internal:
      return false;
  }
  return false;
}

}  // namespace augur
