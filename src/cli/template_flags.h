#pragma once
#include <string>

#include "augur/options.h"

namespace CLI {
class App;
}

namespace augur::cli {

/// The chat template that `given` means: the name of a known one, a file, or the text itself, which has a
/// space or a brace. Error for anything else, with the names that there are.
std::string chat_template_of(const std::string& given);

/// --chat-template, --chat-template-file, --chat-template-kwargs, --reasoning, --template-date; and ChatML
/// for models that have no template.
void add_template_flags(CLI::App& command, EngineOptions& options);

}  // namespace augur::cli
