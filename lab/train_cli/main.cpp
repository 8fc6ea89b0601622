#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cli/hub_flags.h"
#include "cli/program.h"
#include "cli/version.h"
#include "common.h"
#include "parts.h"

namespace {

/// As a shell would take it again.
std::string typed(int argc, char** argv) {
  std::string command = "augur train";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_of(" \t\"'$\\;&|<>()*?#~") == std::string::npos;
    command += plain ? " " + word : " '" + word + "'";
  }
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Train the learned parts of speculative decoding for a target model", "augur train"};
  app.set_version_flag("--version", augur::cli::version_text, "Print version, kernel variants and build");
  app.require_subcommand(1);
  app.footer(
      "Without libtorch: augur train frspec, augur train dynaspec (draft vocabularies; each has --help)");
  app.get_formatter()->column_width(34);
  std::vector<std::string> words = augur::cli::take_arguments(argc, argv);
  augur::Program program{app, typed(argc, argv)};
  const std::map<std::string, augur::Part> parts = {
      {"generate", augur::add_generate(program)},     {"eagle3", augur::add_eagle3(program)},
      {"eagle", augur::add_eagle(program)},           {"mtp", augur::add_mtp(program)},
      {"medusa", augur::add_medusa(program)},         {"early-exit", augur::add_early_exit(program)},
      {"hydra", augur::add_hydra(program)},           {"dflash", augur::add_dflash(program)},
      {"draft", augur::add_draft(program)},           {"lm", augur::add_lm(program)},
      {"tokenizer", augur::add_tokenizer(program)},   {"c2t", augur::add_c2t(program)},
      {"acceptance", augur::add_acceptance(program)}, {"hetero", augur::add_hetero(program)}};
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    std::fprintf(stderr, "augur train: %s\nTry 'augur train%s --help'.\n", error.what(),
                 chosen.empty() ? "" : (" " + chosen.front()->get_name()).c_str());
    return 2;
  }
  try {
    if (const auto ended = augur::cli::fetch_models(*app.get_subcommands().front())) return *ended;
    return parts.at(app.get_subcommands().front()->get_name())();
  } catch (const augur::StoppedEarly& stopped) {
    std::fprintf(stderr, "stopped early; the same command continues where it was\n");
    return stopped.exit_code;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "augur train: out of memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "augur train: %s\n", error.what());
  }
  return 1;
}
