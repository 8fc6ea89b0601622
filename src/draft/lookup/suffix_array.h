#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace augur {

/// Where the suffixes of a text begin, in ascending order (a suffix that is a beginning of another comes
/// first). Symbols are 0 to alphabet - 1. SA-IS (Nong, Zhang and Chan, 2009): linear time, 4 bytes a symbol
/// beside the result and the text. Error for more than 2^31 - 2 symbols.
std::vector<std::int32_t> suffix_array(std::span<const std::int32_t> text, std::int32_t alphabet);

}  // namespace augur
