#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/output.h"
#include "model/model.h"

namespace CLI {
class App;
}

namespace augur::cli {

/// What the benchmarks of kernels and of whole models share: where they run, and where the figures go.
struct BenchFlags {
  int threads = 0;
  bool pin = false;
  std::string json;
};

/// -t, --pin, --json; `flags` must live as long as `command`.
void add_bench_flags(CLI::App& command, BenchFlags& flags);

/// --weights, of a model that is loaded for its own sake; `weights` must live as long as `command`.
void add_weights_flag(CLI::App& command, WeightFormat& weights);

/// Writes the figures to the file of --json, and with `print` to stdout, unless --json asks for them there.
void report(const BenchFlags& flags, const nlohmann::json& figures,
            const std::function<void(Output&)>& print);

}  // namespace augur::cli
