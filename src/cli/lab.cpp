#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace augur::cli {
namespace {

void add(CLI::App& app, Action& action, const std::string& name, const std::string& summary) {
  CLI::App* command = app.add_subcommand(name, summary)->group("Laboratory (augur-lab)");
  // Everything behind it, --help included, is for that program.
  command->prefix_command();
  command->set_help_flag();
  command->callback([command, name, &action] {
    action = [command, name]() -> int {
      std::vector<std::string> words = command->remaining();
      words.insert(words.begin(), name);
      hand_over(
          "augur-lab", words,
          "the laboratory is not part of every build; `make build` builds it (CMake's -DAUGUR_BUILD_LAB=ON)");
    };
  });
}

}  // namespace

void add_lab_commands(CLI::App& app, Action& action) {
  add(app, action, "bench", "Measure this machine: kernels, whole models, speculation");
  add(app, action, "trace", "Record rounds of speculation, for training");
  add(app, action, "train", "Train draft heads, draft models and the policies' parts");
}

}  // namespace augur::cli
