#pragma once
#include "cli/program.h"

namespace augur::cli {

// Each adds one subcommand with its options. When the command line names it, `action` is set.
void add_trace(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_train_frspec(CLI::App& train, Action& action);
void add_train_dynaspec(CLI::App& train, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_bench_kernels(CLI::App& bench, Action& action);
void add_bench_decode(CLI::App& bench, Action& action);
void add_bench_perplexity(CLI::App& bench, Action& action);
void add_bench_spec(CLI::App& bench, Action& action);
void add_bench_vocab(CLI::App& bench, Action& action);
void add_bench_suite(CLI::App& bench, Action& action);
void add_bench_serve(CLI::App& bench, Action& action);
void add_bench_schemas(CLI::App& bench, Action& action);
void add_bench_report(CLI::App& bench, Action& action);
void add_bench_rounds(CLI::App& bench, Action& action);
void add_bench_random_model(CLI::App& bench, Action& action);
void add_bench_paper(CLI::App& bench, Action& action);
void add_bench_project(CLI::App& bench, Action& action);

}  // namespace augur::cli
