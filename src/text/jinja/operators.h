#pragma once
#include <string_view>

#include "text/jinja/value.h"

namespace augur::jinja {

/// Python's + - * / // % **, by name; Error for operands that have none.
Value binary_operation(std::string_view op, const Value& left, const Value& right, Arena& arena);
Value negate(const Value& value);
/// One comparison: == != < <= > >= in "not in".
bool compare(std::string_view op, const Value& left, const Value& right, Arena& arena);
/// value[start:stop:step]; none stands for an absent bound.
Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Arena& arena);

}  // namespace augur::jinja
