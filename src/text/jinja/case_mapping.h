#pragma once
#include <string>
#include <string_view>

#include "text/jinja/text.h"

namespace augur::jinja {

// Python's str.upper(), str.lower() and what its title() does to a first letter: Unicode's full mappings, in
// which a character may become three ("\u00DF" becomes "SS").

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title_letter(std::string_view character);

/// The same with each character's mark.
void add_upper(const Text& text, TextBuilder& to);
void add_lower(const Text& text, TextBuilder& to);

}  // namespace augur::jinja
