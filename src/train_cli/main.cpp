#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>

#include "parts.h"

int main(int argc, char** argv) {
  CLI::App app{"Train the learned parts of speculative decoding for a target model", "augur train"};
  app.require_subcommand(1);
  const std::map<std::string, augur::Part> parts = {{"eagle3", augur::add_eagle3(app)}};
  CLI11_PARSE(app, argc, argv);
  try {
    return parts.at(app.get_subcommands().front()->get_name())();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
