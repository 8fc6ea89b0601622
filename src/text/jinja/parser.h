#pragma once
#include <string_view>

#include "text/jinja/ast.h"

namespace augur::jinja {

/// Parses a template. Error with the line, naming the construct, for what is malformed or not supported.
Body parse(std::string_view source);

}  // namespace augur::jinja
