#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/version.h"

int main(int argc, char** argv) {
  using namespace augur::cli;
  CLI::App app{"Speculative decoding for large language models: the same tokens, sooner.", "augur"};
  app.set_version_flag("--version", version_text, "Print version, kernel variants and build");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer("'augur generate --help' lists drafters (--spec-type) and policies (--spec-policy).");

  Action action;
  add_generate(app, action);
  add_chat(app, action);
  add_serve(app, action);
  add_inspect(app, action);
  add_tokenize(app, action);
  add_convert(app, action);
  add_quantize(app, action);
  add_datastore(app, action);
  add_lab_commands(app, action);
  return run_program(app, action, argc, argv);
}
