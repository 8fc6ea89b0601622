#pragma once
#include <span>
#include <string_view>

namespace augur {

/// The known word that was probably meant by another: the nearest within two edits (a letter put in, left
/// out, replaced, or swapped with its neighbour), which are less than half of it. Empty: none.
std::string_view similar_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace augur
