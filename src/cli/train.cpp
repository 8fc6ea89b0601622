#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"

namespace augur::cli {
namespace {

/// The training program lies beside this one: it is a program of its own so that this one needs no libtorch.
std::filesystem::path training_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("cannot find this program's own folder: {}", error.message());
  return self.parent_path() / "augur-train";
}

[[noreturn]] void run_training(const std::vector<std::string>& arguments) {
  const std::filesystem::path program = training_program();
  std::vector<char*> argv;
  std::string name = program.string();
  argv.push_back(name.data());
  std::vector<std::string> words = arguments;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  if (errno == ENOENT) {
    throw Error(
        "train: there is no {}: training needs libtorch and is not part of every build.\n"
        "`make train` installs libtorch and builds it (scripts/bootstrap.sh --train, then CMake's "
        "-DAUGUR_BUILD_TRAINING=ON)",
        program.string());
  }
  throw Error("{}: cannot be run: {}", program.string(), std::strerror(errno));
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
