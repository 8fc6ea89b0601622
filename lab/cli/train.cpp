#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lab/cli/commands.h"

namespace augur::cli {
namespace {

/// A program of its own, so that this one needs no libtorch.
[[noreturn]] void run_training(const std::vector<std::string>& arguments) {
  hand_over("augur-train", arguments,
            "training needs libtorch and is not part of every build.\n"
            "`make train` installs libtorch and builds it (scripts/bootstrap.sh --train, then CMake's "
            "-DAUGUR_BUILD_TRAINING=ON)");
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "train", "Train draft heads and draft models for a target (where built; see docs/training.md)");
  // Everything else behind it, --help included, is for the training program.
  command->prefix_command();
  command->set_help_flag();
  // What needs no libtorch is done here.
  add_train_frspec(*command, action);
  add_train_dynaspec(*command, action);
  command->callback([command, &action] {
    if (!command->get_subcommands().empty()) return;
    action = [command]() -> int { run_training(command->remaining()); };
  });
}

}  // namespace augur::cli
