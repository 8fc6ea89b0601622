#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

// What callers' memory holds, read and written with the sizes that they say.
namespace augur::c_api {

/// Sizes are whole words, so that no pointer is cut. Error of kind Misuse for others, and for sizes that no
/// version will have.
inline void check_size(const char* what, std::size_t size) {
  constexpr std::size_t kWord = sizeof(void*);
  constexpr std::size_t kMost = std::size_t{1} << 16;
  if (size < kWord || size > kMost || size % kWord != 0) {
    throw Error(ErrorKind::Misuse, "{}: size is {}; start from its _default function, or from sizeof", what,
                size);
  }
}

/// The struct of `size` bytes at `given` as this version knows it: what it is too short for, stays as in
/// `defaults`. Error for bytes behind what this version knows that are not 0: they ask for something.
template <class Struct>
Struct known(const void* given, std::size_t size, Struct defaults, const char* what) {
  std::memcpy(static_cast<void*>(&defaults), given, std::min(size, sizeof(Struct)));
  const auto* const bytes = static_cast<const unsigned char*>(given);
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Error(refused(what),
                "{}: unknown options behind its first {} bytes: expected 0 there, or a newer library", what,
                sizeof(Struct));
  }
  return defaults;
}

/// The caller's struct, which begins with its size.
template <class Struct>
Struct complete(const Struct* given, const Struct& defaults, const char* what) {
  if (given == nullptr) throw Error(ErrorKind::Misuse, "{} is NULL", what);
  check_size(what, given->size);
  return known(given, given->size, defaults, what);
}

/// Writes what is known to a caller's struct, which may be of an older or a newer version.
template <class Struct>
void write_struct(Struct from, Struct* to, std::size_t size) noexcept {
  from.size = size;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(static_cast<void*>(to), &from, std::min(size, sizeof(Struct)));
}

/// Defaults for a caller's struct of `size` bytes; nothing for sizes that are none.
template <class Struct>
void write_defaults(const Struct& defaults, Struct* to, std::size_t size) noexcept {
  if (to != nullptr && size >= sizeof(std::size_t)) write_struct(defaults, to, size);
}

/// What was asked for, to a caller's struct that says its size.
template <class Struct>
void answer(const Struct& from, Struct* to, const char* what) {
  if (to == nullptr) throw Error(ErrorKind::Misuse, "{} is NULL", what);
  check_size(what, to->size);
  write_struct(from, to, to->size);
}

inline std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string{} : std::string(text);
}

inline void check_array(const char* field, const void* first, std::size_t count) {
  constexpr std::size_t kMost = std::size_t{1} << 31;
  if (first == nullptr && count > 0)
    throw Error(ErrorKind::Misuse, "{} is NULL, but its count is {}", field, count);
  if (count > kMost)
    throw Error(ErrorKind::Misuse, "{}: its count is {}: expected at most {}", field, count, kMost);
}

/// An array of the caller's: null only where it is empty.
template <class T>
std::span<T> array(const char* field, T* first, std::size_t count) {
  check_array(field, first, count);
  return {first, count};
}

/// An array of structs of `size` bytes each, of which this version knows some. Calls `take` with each.
template <class Struct, class Take>
void for_each_struct(const char* field, const Struct* first, std::size_t count, std::size_t size,
                     Take&& take) {
  check_array(field, first, count);
  if (count > 0) check_size(field, size);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(first);
  for (std::size_t i = 0; i < count; ++i) take(known(bytes + i * size, size, Struct{}, field));
}

/// A text as the caller has room for it. Returns its length.
inline std::int64_t write_text(std::string_view text, char* to, std::size_t capacity) {
  if (to == nullptr && capacity > 0)
    throw Error(ErrorKind::Misuse, "text is NULL, but its capacity is {}", capacity);
  if (capacity > 0) {
    const std::size_t length = std::min(capacity - 1, text.size());
    std::copy_n(text.begin(), length, to);
    to[length] = '\0';
  }
  return static_cast<std::int64_t>(text.size());
}

/// The same for tokens.
inline std::int64_t write_tokens(std::span<const std::int32_t> tokens, std::int32_t* to,
                                 std::size_t capacity) {
  if (to == nullptr && capacity > 0)
    throw Error(ErrorKind::Misuse, "tokens is NULL, but its capacity is {}", capacity);
  std::copy_n(tokens.begin(), std::min(capacity, tokens.size()), to);
  return static_cast<std::int64_t>(tokens.size());
}

}  // namespace augur::c_api
