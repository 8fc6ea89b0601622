#pragma once
#include "text/jinja/builtins.h"

namespace augur::jinja {

// Python's two ways to format. What the text says itself and the strings among the arguments keep their
// marks; in markup, arguments that are none are escaped. Error for what Python refuses, and for conversions
// of numbers that no template needs (complex ones, locale).

/// text % value: a tuple's items, a dictionary's by name, or the value.
Value format_percent(const Text& text, const Value& value, Arena& arena);
/// text.format(...)
Value format_braces(const Text& text, const CallArguments& arguments, Arena& arena);

}  // namespace augur::jinja
