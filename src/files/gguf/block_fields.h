#pragma once
#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace augur {

/// A number in a block, which need not be aligned.
template <class T>
T load(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline float half_at(const std::uint8_t* p) {
  return half_to_float(load<std::uint16_t>(p));
}

}  // namespace augur
