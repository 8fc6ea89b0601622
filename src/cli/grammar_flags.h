#pragma once
#include <optional>

#include "augur/options.h"

namespace CLI {
class App;
}

namespace augur::cli {

/// --grammar, --grammar-file, --json-schema, --json-schema-file, as llama.cpp has them, and --regex: one of
/// them says what the text has to be.
void add_grammar_flags(CLI::App& command, std::optional<Grammar>& grammar);

}  // namespace augur::cli
