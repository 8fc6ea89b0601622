#include "cli/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "cli/bus_error.h"

namespace augur::cli {
namespace {

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

/// The arguments after the program's name, last first, as CLI11 takes them. llama.cpp's -md and -sys are no
/// flags that CLI11 can know (it reads -m with the value "d").
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> result;
  for (int i = argc - 1; i > 0; --i) {
    const std::string_view word = argv[i];
    result.emplace_back(word == "-md" ? "--spec-draft-model" : word == "-sys" ? "--system-prompt" : word);
  }
  return result;
}

int run(CLI::App& app, const Action& action, int argc, char** argv) {
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

int run_program(CLI::App& app, const Action& action, int argc, char** argv) {
  // A reader that went away, or a file larger than the user's limit, shows up as a failed write, which is
  // reported like a full disk.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  report_bus_errors();
  try {
    return run(app, action, argc, argv);
  } catch (const Error& error) {
    fmt::print(stderr, "augur: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "augur: {}\n", describe(std::current_exception()));
  } catch (...) {
    fmt::print(stderr, "augur: internal error: {}\n", describe(std::current_exception()));
  }
  return 1;
}

void hand_over(std::string_view name, std::span<const std::string> arguments, std::string_view missing) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("cannot find this program's own folder: {}", error.message());
  std::string program = (self.parent_path() / name).string();
  std::vector<std::string> words(arguments.begin(), arguments.end());
  std::vector<char*> argv = {program.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  if (errno == ENOENT) {
    program = name;
    execvp(program.c_str(), argv.data());
  }
  if (errno == ENOENT) throw Error("there is no {} beside this program or on the PATH: {}", name, missing);
  throw Error("{}: cannot be run: {}", program, std::strerror(errno));
}

}  // namespace augur::cli
