#pragma once
#include <string>
#include <string_view>

namespace augur {

/// Unicode's White_Space property.
bool is_white_space(char32_t code);
/// A letter, mark, number or connector punctuation: what `\w` means in Unicode-aware expressions.
bool is_word_character(char32_t code);

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };
/// Unicode normalisation in O(n log n) whatever the text; invalid bytes are kept as they are.
std::string normalize_utf8(std::string_view text, NormalForm form);

}  // namespace augur
