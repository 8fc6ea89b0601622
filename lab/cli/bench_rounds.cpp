#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/text_file.h"
#include "lab/cli/commands.h"
#include "lab/suite/priced_rounds.h"

namespace augur::cli {

void add_bench_rounds(CLI::App& bench, Action& action) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = bench.add_subcommand(
      "rounds", "What a machine whose speed wanders would have measured, had it stood still: priced rounds");
  command->add_option("FILE", *file, "What 'bench suite --log' or 'bench spec --log' wrote")->required();
  command->callback([file, &action] {
    action = [file] {
      write_text("-", priced_tables(read_round_log(*file)));
      return 0;
    };
  });
}

}  // namespace augur::cli
