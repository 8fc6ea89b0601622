#include "cli/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/similar_word.h"
#include "cli/bus_error.h"
#include "cli/hub_flags.h"
#include "cli/secret_flags.h"
#include "cli/tell.h"

namespace augur::cli {
namespace {

/// The first word that is no option or subcommand, and the one that was probably meant; empty: none.
std::string correction(const CLI::App& command, std::span<const std::string> words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : command.get_subcommands(nullptr)) names.push_back(sub->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (const std::string_view meant = similar_word(name, known); !meant.empty()) {
      return fmt::format("{} is not known: did you mean {}?", name, meant);
    }
  }
  return {};
}

/// `words`: the arguments, in their order.
int usage_error(const CLI::App& app, const CLI::ParseError& error, std::span<const std::string> words) {
  const CLI::App* command = &app;  // the innermost subcommand that was named
  std::string path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
    const auto named = std::find(words.begin(), words.end(), command->get_name());
    if (named != words.end()) words = words.subspan(static_cast<std::size_t>(named - words.begin()) + 1);
  }
  // Only what was not expected, or is missing, may be there under another name.
  const bool misspelt = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                        dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string better = misspelt ? correction(*command, words) : std::string();
  tell("augur: {}\nTry '{} --help'.\n", better.empty() ? error.what() : better, path);
  return kUsageError;
}

/// Overwrites the keys among the arguments.
void hide_secrets(int argc, char** argv) {
  const auto hide = [](char* text) { std::memset(text, '*', std::strlen(text)); };
  for (int i = 1; i < argc; ++i) {
    for (const std::string_view flag : kSecretFlags) {
      if (flag == argv[i] && i + 1 < argc) hide(argv[i + 1]);
      const std::string with_value = std::string(flag) + '=';
      if (std::string_view(argv[i]).starts_with(with_value)) hide(argv[i] + with_value.size());
    }
  }
}

/// llama.cpp's flags that CLI11 cannot know (it reads -md as -m with the value "d").
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kShortFlags = {{
    {"-md", "--spec-draft-model"},
    {"-sys", "--system-prompt"},
    {"-hf", "--hf-repo"},
    {"-hfr", "--hf-repo"},
    {"-hff", "--hf-file"},
    {"-hft", "--hf-token"},
    {"-hfd", "--spec-draft-hf"},
    {"-hfrd", "--spec-draft-hf"},
}};

/// The innermost command that was named.
CLI::App& chosen(CLI::App& app) {
  CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

int run(CLI::App& app, const Action& action, std::vector<std::string> words) {
  try {
    place_hub_model(app, words);
    app.parse(std::vector<std::string>(words));
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    std::reverse(words.begin(), words.end());
    return usage_error(app, error, words);
  }
  if (const auto ended = fetch_models(chosen(app))) return *ended;
  return action();
}

}  // namespace

std::vector<std::string> take_arguments(int argc, char** argv) {
  std::vector<std::string> result;
  for (int i = argc - 1; i > 0; --i) {
    const std::string_view word = argv[i];
    const auto known = std::find_if(kShortFlags.begin(), kShortFlags.end(),
                                    [&](const auto& flag) { return flag.first == word; });
    result.emplace_back(known == kShortFlags.end() ? word : known->second);
  }
  hide_secrets(argc, argv);
  return result;
}

int run_program(CLI::App& app, const Action& action, int argc, char** argv) {
  // A reader that went away, or a file larger than the user's limit, shows up as a failed write, which is
  // reported like a full disk.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  report_bus_errors();
  try {
    return run(app, action, take_arguments(argc, argv));
  } catch (const Error& error) {
    tell("augur: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    tell("augur: {}\n", describe(std::current_exception()));
  } catch (...) {
    tell("augur: internal error: {}\n", describe(std::current_exception()));
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
