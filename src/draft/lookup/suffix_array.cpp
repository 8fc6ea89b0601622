#include "draft/lookup/suffix_array.h"

#include <divsufsort.h>

#include <limits>
#include <new>

#include "base/error.h"

namespace augur {

std::vector<std::int32_t> suffix_array(std::span<const std::int32_t> text, std::int32_t alphabet) {
  if (text.empty()) return {};
  // The library sorts bytes: symbols of one width, the high byte first, keep their order, and the suffixes
  // that begin at a symbol are those of the text.
  int width = 1;
  while (std::int64_t{1} << (8 * width) < alphabet) ++width;
  constexpr auto kMostBytes = std::int64_t{std::numeric_limits<saidx_t>::max()};
  if (std::ssize(text) > kMostBytes / width) {
    throw Error("suffix array: {} symbols of {} bytes are too many, expected at most {}", text.size(), width,
                kMostBytes / width);
  }
  std::vector<sauchar_t> bytes;
  bytes.reserve(text.size() * static_cast<std::size_t>(width));
  for (const std::int32_t symbol : text) {
    for (int i = width - 1; i >= 0; --i) bytes.push_back(static_cast<sauchar_t>(symbol >> (8 * i)));
  }
  std::vector<saidx_t> sorted(bytes.size());
  if (divsufsort(bytes.data(), sorted.data(), static_cast<saidx_t>(bytes.size())) != 0)
    throw std::bad_alloc();
  std::vector<std::int32_t> order;
  order.reserve(text.size());
  for (const saidx_t place : sorted) {
    if (place % width == 0) order.push_back(place / width);
  }
  return order;
}

}  // namespace augur
