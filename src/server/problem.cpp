#include "server/problem.h"

#include "base/error.h"

namespace augur {

Problem problem_of(const ErrorCause& cause, const std::string& message) {
  switch (cause.kind) {
    case ErrorKind::OutOfMemory:
      return {503, "the server has no memory left for this request", {}, {{"Retry-After", "1"}}};
    case ErrorKind::QueueFull:
      return {429, message, cause.field, {{"Retry-After", "1"}}};
    case ErrorKind::Cancelled:  // its client is gone, or its time is over
      return {504, message, cause.field};
    default:
      return {blames_caller(cause.kind) && !cause.field.empty() ? 400 : 500, message, cause.field};
  }
}

Problem problem_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Problem& problem) {
    return problem;
  } catch (...) {
    return problem_of(cause_of(thrown), describe(thrown));
  }
}

}  // namespace augur
