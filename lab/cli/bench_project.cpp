#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "cli/progress.h"
#include "cli/text_file.h"
#include "cli/validators.h"
#include "lab/cli/bench_flags.h"
#include "lab/cli/commands.h"
#include "lab/papers/projection.h"
#include "lab/suite/document.h"

namespace augur::cli {
namespace {

struct Options {
  std::string suite;
  BenchFlags bench;
  std::vector<std::string> shapes = {"1b", "8b"};
  int rounds = 5;
};

void print(const nlohmann::ordered_json& found, Output& out) {
  out.line(
      "CALCULATED, not run: products measured on this machine with random weights of these shapes; tokens a "
      "call,\n"
      "rows a call and drafting's share of a plain step as measured in " +
      found["from"].get<std::string>());
  for (const auto& shape : found["shapes"]) {
    std::string costs;
    for (const auto& [rows, ms] : shape["costs"].get<std::vector<std::pair<int, double>>>()) {
      costs += fmt::format("{}{}: {:.1f}", costs.empty() ? "" : ", ", rows, ms);
    }
    out.line(fmt::format("\n{}; ms of a pass by rows: {}", shape["shape"].get<std::string>(), costs));
    for (const auto& m : shape["methods"]) {
      out.line(
          fmt::format("  {:<40} {:5.2f}x   ({:.2f} tokens of {:.1f} rows a call, drafting {:.0f}% of a step)",
                      m["label"].get<std::string>(), m["speedup"].get<double>(), m["tau"].get<double>(),
                      m["rows"].get<double>(), 100 * m["draft_share"].get<double>()));
    }
  }
}

int bench_project(const Options& options) {
  const auto document = read_suite_document(options.suite);
  Backend backend(options.bench.threads, options.bench.pin);
  nlohmann::ordered_json found = {{"calculated", true},
                                  {"from", options.suite},
                                  {"cpu", cpu_model_name()},
                                  {"threads", backend.pool.size()},
                                  {"shapes", nlohmann::ordered_json::array()}};
  for (const std::string& name : options.shapes) {
    const ModelShape shape = model_shape(name);
    Progress progress(name);
    const MeasuredCosts::Curve costs =
        measure_shape(backend, shape, {1, 2, 4, 8, 16, 24, 32, 48, 64}, options.rounds,
                      [&](double fraction) { progress.update(fraction); });
    progress.done();
    found["shapes"].push_back(project(shape, costs, document));
  }
  report(options.bench, found, [&](Output& out) { print(found, out); });
  return 0;
}

}  // namespace

void add_bench_project(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "project",
      "What a suite's methods would gain with larger targets: a calculation from measured kernels");
  command->add_option("SUITE", options->suite, "What 'bench suite --json' wrote")->required();
  command->add_option("--shapes", options->shapes, "1b, 8b")
      ->check(CLI::IsMember({"1b", "8b"}))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Repetitions of every product")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  add_bench_flags(*command, options->bench);
  command->callback([options, &action] { action = [options] { return bench_project(*options); }; });
}

}  // namespace augur::cli
