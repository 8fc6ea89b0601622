#include "lab/cli/bench_flags.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/text_file.h"
#include "cli/validators.h"

namespace augur::cli {

void add_bench_flags(CLI::App& command, BenchFlags& flags) {
  command.add_option("-t,--threads", flags.threads, "Threads; 0: one for each core that it may use")
      ->check(in_range(0, 1024));
  command.add_flag("--pin", flags.pin, "Bind each thread to a core");
  command.add_option("--json", flags.json, "Write the figures to this file; -: to stdout, nothing else");
}

void add_weights_flag(CLI::App& command, WeightFormat& weights) {
  add_words(command, "--weights", weights,
            "Weights in memory. native: quantised ones as they are stored (auto: native)");
}

void report(const BenchFlags& flags, const nlohmann::json& figures,
            const std::function<void(Output&)>& print) {
  if (!flags.json.empty()) write_text(flags.json, figures.dump(2) + "\n");
  if (flags.json == "-") return;
  Output out;
  print(out);
  out.finish();
}

}  // namespace augur::cli
