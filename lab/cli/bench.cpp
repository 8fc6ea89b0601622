#include <CLI/CLI.hpp>

#include "lab/cli/commands.h"

namespace augur::cli {

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure this machine: kernels, whole models, speculation");
  command->require_subcommand(1);
  add_bench_kernels(*command, action);
  add_bench_decode(*command, action);
  add_bench_perplexity(*command, action);
  add_bench_spec(*command, action);
  add_bench_vocab(*command, action);
  add_bench_suite(*command, action);
  add_bench_serve(*command, action);
  add_bench_schemas(*command, action);
  add_bench_report(*command, action);
  add_bench_rounds(*command, action);
  add_bench_random_model(*command, action);
  add_bench_paper(*command, action);
  add_bench_project(*command, action);
}

}  // namespace augur::cli
