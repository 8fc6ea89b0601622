#include "cli/inspect_costs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "cli/engine_flags.h"
#include "cli/output.h"
#include "engine/engine_access.h"

namespace augur::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const MeasuredCosts::Curve& curve) {
  ordered_json points = ordered_json::array();
  for (std::size_t i = 0; i < curve.rows.size(); ++i) {
    points.push_back({{"rows", curve.rows[i]}, {"ms", curve.ms[i]}});
  }
  return points;
}

ordered_json to_json(const MeasuredCosts::Experts& experts) {
  if (experts.count == 0) return nullptr;
  ordered_json points = ordered_json::array();
  for (std::size_t i = 0; i < experts.rows.size(); ++i) {
    points.push_back(
        {{"rows", experts.rows[i]}, {"expected", experts.expected[i]}, {"even", experts.even[i]}});
  }
  return {{"count", experts.count},
          {"active", experts.active},
          {"layers", experts.layers},
          {"ms", experts.ms},
          {"distinct", points}};
}

ordered_json to_json(const MeasuredCosts& costs, const ModelInfo& info) {
  ordered_json drafters = ordered_json::array();
  for (const MeasuredCosts::Draft& d : costs.drafters) {
    drafters.push_back(
        {{"name", d.name}, {"first_level", to_json(d.first_level)}, {"level", to_json(d.level)}});
  }
  return {{"cpu", cpu_model_name()},
          {"isa", info.isa},
          {"threads", info.threads},
          {"model", info.path},
          {"context", costs.context},
          {"verify", to_json(costs.verify)},
          {"experts", to_json(costs.experts)},
          {"growth_one_row", costs.growth_one},
          {"growth_many_rows", costs.growth_many},
          {"other_ms", costs.other_ms},
          {"drafters", drafters},
          {"file", costs.file}};
}

/// A table whose columns are row counts, as many as a line holds.
void print(const std::string& what, const MeasuredCosts::Curve& curve, double unit, Output& out) {
  if (curve.rows.empty()) return;
  std::string rows = fmt::format("{:<22}", what);
  std::string ms = fmt::format("{:<22}", "  ms");
  std::string steps = fmt::format("{:<22}", "  plain forwards");
  for (std::size_t i = 0; i < curve.rows.size(); ++i) {
    rows += fmt::format("{:>8}", curve.rows[i]);
    ms += fmt::format("{:>8.3f}", curve.ms[i]);
    steps += fmt::format("{:>8.2f}", curve.ms[i] / unit);
  }
  for (const std::string& line : {rows, ms, steps}) out.line(line);
}

void print(const MeasuredCosts::Experts& experts, double unit, Output& out) {
  if (experts.count == 0) return;
  std::string expected = fmt::format("{:<22}", fmt::format("experts: of {}", experts.count));
  std::string even = fmt::format("{:<22}", "  if rows chose evenly");
  for (std::size_t i = 0; i < experts.rows.size(); ++i) {
    expected += fmt::format("{:>8.1f}", experts.expected[i]);
    even += fmt::format("{:>8.1f}", experts.even[i]);
  }
  out.line(expected);
  out.line(even);
  out.line(fmt::format("one more expert in all {} layers that have some: {:.3f} plain forwards",
                       experts.layers, experts.layers * experts.ms / unit));
}

void print(const MeasuredCosts& costs, const ModelInfo& info, Output& out) {
  const double unit = costs.verify.ms.front();
  out.line(fmt::format("{}, {} threads, {} on {}", info.path, info.threads, info.isa, cpu_model_name()));
  print("verify: rows", costs.verify, unit, out);
  print(costs.experts, unit, out);
  out.line(fmt::format("behind {:.0f} tokens; 1000 more add {:.1f}% to one row, {:.1f}% to 64", costs.context,
                       1e5 * costs.growth_one, 1e5 * costs.growth_many));
  out.line(fmt::format("the rest of a step: {:.3f} ms", costs.other_ms));
  for (const MeasuredCosts::Draft& d : costs.drafters) {
    print(d.name + ": text tokens", d.first_level, unit, out);
    print(d.name + ": level of nodes", d.level, unit, out);
  }
  if (costs.file.empty()) return;
  out.line(fmt::format("kept in {}", costs.file));
  out.line(fmt::format("for every program of this machine whose timed code is the same; to forget: rm '{}'",
                       costs.file));
}

}  // namespace

int inspect_costs(const EngineOptions& options, bool anew, bool json) {
  Engine engine = load_engine(options);
  EngineAccess::measure_costs(engine, anew);
  const MeasuredCosts costs = EngineAccess::known_costs(engine);
  Output out;
  if (json) {
    out.line(to_json(costs, engine.info()).dump(2));
  } else {
    print(costs, engine.info(), out);
  }
  out.finish();
  return 0;
}

}  // namespace augur::cli
