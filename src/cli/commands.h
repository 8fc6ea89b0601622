#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace augur::cli {

/// What the chosen subcommand does once the whole command line has been accepted; returns the exit code.
using Action = std::function<int()>;

/// Exit codes: everything else that goes wrong is 1.
inline constexpr int kUsageError = 2;
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells say it

// Each adds one subcommand with its options. When the command line names it, `action` is set.
void add_generate(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_datastore(CLI::App& app, Action& action);
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
void add_bench_report(CLI::App& bench, Action& action);
void add_bench_paper(CLI::App& bench, Action& action);
void add_bench_project(CLI::App& bench, Action& action);

}  // namespace augur::cli
