#pragma once
#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace augur::jinja {

/// Renders a parsed template with the variables in `context`. Error, with the line, for what goes wrong;
/// RaisedByTemplate where the template calls raise_exception().
TextBuilder render(const Body& program, const Dict& context, Arena& arena);

}  // namespace augur::jinja
