#pragma once
#include <cstdint>

#include "base/error.h"

namespace augur::c_api {

/// Of an enumeration that C has as a number.
template <class Enum>
Enum numbered(const char* field, std::int64_t value, Enum last) {
  if (value < 0 || value > static_cast<std::int64_t>(last))
    throw Error(refused(field), "{} is {}: expected 0 to {}", field, value, static_cast<int>(last));
  return static_cast<Enum>(value);
}

}  // namespace augur::c_api
