#pragma once
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace augur::cli {

// Models that a command is given by their names on a hub, under llama.cpp's names of the flags. run_program()
// fetches them when the command line has been accepted, and gives their paths to the options that take paths.

/// --hf-repo, --hf-file, --hf-token, --offline: in place of `model`, an option of the command's that takes a
/// path (--model, MODEL, or IN).
void add_hub_flags(CLI::App& command, CLI::Option* model);
/// Where other arguments follow IN, the name of the model takes its place among the words of a command line
/// (last first, as CLI11 takes them), until its path is known.
void place_hub_model(const CLI::App& app, std::vector<std::string>& words);
/// --spec-draft-hf: in place of `draft` (--spec-draft-model, or --draft-model). After add_hub_flags.
void add_draft_hub_flag(CLI::App& command, CLI::Option* draft);

/// Fetches what the flags of `command` name, with a progress line on a terminal. The exit code where a signal
/// ended that; empty: go on. Error as of fetch_model().
std::optional<int> fetch_models(CLI::App& command);

}  // namespace augur::cli
