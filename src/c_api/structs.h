#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "base/error.h"

namespace augur::c_api {

/// The caller's struct as this version knows it: fields that an older caller lacks keep their defaults.
template <class Options>
Options complete(const Options* given, Options defaults, const char* what) {
  if (given == nullptr) throw augur::Error(augur::ErrorKind::Misuse, "{} is NULL", what);
  if (given->size < sizeof(std::size_t) || given->size > 1 << 16) {
    throw augur::Error(augur::ErrorKind::Misuse, "{}: size is {}; start from its _default function", what,
                       given->size);
  }
  std::memcpy(&defaults, given, std::min(given->size, sizeof(Options)));
  return defaults;
}

/// Writes defaults to a caller's struct of `size` bytes, which may be of an older or a newer version.
template <class Options>
void give(Options defaults, Options* to, std::size_t size) noexcept {
  if (to == nullptr || size < sizeof(std::size_t)) return;
  defaults.size = size;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(static_cast<void*>(to), &defaults, std::min(size, sizeof(Options)));
}

inline std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string{} : std::string(text);
}

/// An array of the caller's: null only where it is empty.
template <class T>
std::span<T> array(const char* field, T* first, std::size_t count) {
  if (first == nullptr && count > 0)
    throw augur::Error(augur::ErrorKind::Misuse, "{} is NULL, but its count is {}", field, count);
  return {first, count};
}

}  // namespace augur::c_api
