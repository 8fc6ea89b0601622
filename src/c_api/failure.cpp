#include "c_api/failure.h"

#include <cstdint>
#include <string>
#include <utility>

#include "augur/augur.h"
#include "base/error.h"

namespace {

struct Failure {
  std::string message;
  std::int32_t kind = AUGUR_ERROR_NONE;
  std::string field;
};
thread_local Failure last;

static_assert(static_cast<int>(augur::ErrorKind::NotFound) == AUGUR_ERROR_NOT_FOUND);
static_assert(static_cast<int>(augur::ErrorKind::Malformed) == AUGUR_ERROR_MALFORMED);
static_assert(static_cast<int>(augur::ErrorKind::Unsupported) == AUGUR_ERROR_UNSUPPORTED);
static_assert(static_cast<int>(augur::ErrorKind::OutOfMemory) == AUGUR_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(augur::ErrorKind::ContextFull) == AUGUR_ERROR_CONTEXT_FULL);
static_assert(static_cast<int>(augur::ErrorKind::RefusedField) == AUGUR_ERROR_REFUSED_FIELD);
static_assert(static_cast<int>(augur::ErrorKind::Cancelled) == AUGUR_ERROR_CANCELLED);
static_assert(static_cast<int>(augur::ErrorKind::QueueFull) == AUGUR_ERROR_QUEUE_FULL);
static_assert(static_cast<int>(augur::ErrorKind::Misuse) == AUGUR_ERROR_MISUSE);
static_assert(static_cast<int>(augur::ErrorKind::Internal) == AUGUR_ERROR_INTERNAL);

}  // namespace

namespace augur::c_api {

void note(const std::exception_ptr& thrown) noexcept {
  last.kind = AUGUR_ERROR_OUT_OF_MEMORY;
  try {
    augur::ErrorCause cause = augur::cause_of(thrown);
    last.message = augur::describe(thrown);
    last.kind = static_cast<std::int32_t>(cause.kind);
    last.field = std::move(cause.field);
  } catch (...) {
    last.message = "out of memory";  // so short that it takes none
  }
}

void forget_failure() noexcept {
  last.message.clear();
  last.kind = AUGUR_ERROR_NONE;
  last.field.clear();
}

}  // namespace augur::c_api

const char* augur_last_error(void) {
  return last.message.c_str();
}

int32_t augur_last_error_kind(void) {
  return last.kind;
}

const char* augur_last_error_field(void) {
  return last.field.c_str();
}
