#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace augur {

/// A literal of Python's (or of JSON's) as JSON: texts in either quotes with escapes, numbers, True, False,
/// None, lists, tuples and dictionaries whose keys are texts, in one another. Nothing where it is none of
/// these. A quote ends a text only where what may follow a text follows it, as models forget to escape
/// quotes.
std::optional<std::string> json_of_python(std::string_view literal);

/// Whether `next`, the first byte behind a quote that is no space, lets the quote end a text.
bool may_follow_text(char next);

}  // namespace augur
