#pragma once
#include "cli/program.h"

namespace augur::cli {

// Each adds one subcommand with its options. When the command line names it, `action` is set.
void add_generate(CLI::App& app, Action& action);
void add_chat(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_datastore(CLI::App& app, Action& action);
/// bench, trace, train: what augur-lab does.
void add_lab_commands(CLI::App& app, Action& action);

}  // namespace augur::cli
