#pragma once
#include "augur/engine.h"
#include "server/tools/offered_tools.h"
#include "server/tools/tool_parser.h"

namespace augur {

/// Whether the request says anything of the answer's form: calls are required, or some are strict.
bool constrains(const OfferedTools& offered);

/// What an answer has to be, in the form in which the model writes calls: nothing but calls where they are
/// required, otherwise any text with calls in it. BadRequest naming the field of a schema that cannot be
/// enforced.
Grammar tool_grammar(const Engine& engine, ToolFormat format, const OfferedTools& offered);

}  // namespace augur
