#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace augur {

/// Where the suffixes of a text begin, in ascending order (a suffix that is a beginning of another comes
/// first). Symbols are 0 to alphabet - 1; alphabets of up to 2^24. Of memory it takes five bytes for each
/// byte of a symbol beside the result and the text. Error for more than 2^31 - 1 bytes of symbols.
std::vector<std::int32_t> suffix_array(std::span<const std::int32_t> text, std::int32_t alphabet);

}  // namespace augur
