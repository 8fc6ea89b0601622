#pragma once
#include <exception>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace augur {

/// The system has refused memory. The message says how much.
class OutOfMemory : public Error {
 public:
  template <class... Args>
  explicit OutOfMemory(std::type_identity_t<ErrorFormat<Args...>> format, Args&&... args)
      : Error(ErrorKind::OutOfMemory, format, std::forward<Args>(args)...) {}
};

/// Whether it was thrown for want of memory: this, or std::bad_alloc. `thrown` is not null.
bool is_want_of_memory(const std::exception_ptr& thrown);

}  // namespace augur
