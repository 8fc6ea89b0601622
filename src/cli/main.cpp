#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/version.h"

namespace {

using namespace augur;
using namespace augur::cli;

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;  // the innermost subcommand that was named
  std::string path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  fmt::print(stderr, "augur: {}\nTry '{} --help'.\n", error.what(), path);
  return kUsageError;
}

/// The arguments after the program's name, last first, as CLI11 takes them. llama.cpp's -md is not a flag
/// that CLI11 can know (it reads -m with the value "d").
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> result;
  for (int i = argc - 1; i > 0; --i) {
    result.emplace_back(std::string_view(argv[i]) == "-md" ? "--spec-draft-model" : argv[i]);
  }
  return result;
}

int run(int argc, char** argv) {
  CLI::App app{"Speculative decoding for large language models: the same tokens, sooner.", "augur"};
  app.set_version_flag("--version", version_text, "Print version, kernel variants and build");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  Action action;
  add_generate(app, action);
  add_inspect(app, action);
  add_tokenize(app, action);
  add_convert(app, action);
  add_quantize(app, action);
  add_datastore(app, action);
  add_trace(app, action);
  add_train(app, action);
  add_bench(app, action);

  try {
    app.parse(arguments(argc, argv));
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that went away shows up as a failed write, which is reported like a full disk.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    fmt::print(stderr, "augur: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "augur: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "augur: internal error: {}\n", error.what());
  }
  return 1;
}
