#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace augur {

/// The bytes [begin, end) of a text; begin < end.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

/// A prompt, and which of its bytes somebody else than the template's author wrote: there, what looks like a
/// control token is text.
struct MarkedText {
  std::string text;
  std::vector<ByteRange> client;  ///< in order; no two touch
};

}  // namespace augur
