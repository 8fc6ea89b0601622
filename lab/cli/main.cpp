#include <CLI/CLI.hpp>

#include "cli/version.h"
#include "lab/cli/commands.h"

int main(int argc, char** argv) {
  using namespace augur::cli;
  CLI::App app{"Augur's laboratory: measures, traces and trains.", "augur-lab"};
  app.set_version_flag("--version", version_text, "Print version, kernel variants and build");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  Action action;
  add_trace(app, action);
  add_train(app, action);
  add_bench(app, action);
  return run_program(app, action, argc, argv);
}
