#include "lab/suite/policy_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "plan/keys.h"
#include "plan/text.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What tells methods apart.
struct Settings {
  std::string drafter;  ///< its types and its model
  std::string policy;   ///< empty: fixed
  std::string size;
  std::string other;  ///< the rest

  std::string without_policy() const { return drafter + " " + other + " " + size; }
};

Settings settings_of(const ordered_json& method) {
  const PlanText text = split_plan(method["text"].get<std::string>());
  PlanText shape{.drafters = text.drafters, .settings = {}};
  Settings settings{
      .drafter = fmt::format("{}", fmt::join(text.drafters, ",")), .policy = {}, .size = {}, .other = {}};
  for (const auto& [key, value] : text.settings) {
    if (key == "model") settings.drafter += " " + value;
    if (key == "model" || key == "label" || key == "keep") continue;
    shape.settings.emplace_back(key, value);
    if (key == "policy") {
      settings.policy = value;
    } else if (key == "size") {
      settings.size = value;
    } else {
      settings.other += key + "=" + value + ",";
    }
  }
  // Who gives neither a policy nor limits has `auto`.
  SpeculationPlan plan;
  apply(shape, plan);
  if (text.drafters != std::vector<std::string>{"plain"} && policy_of(plan).name == "auto")
    settings.policy = "auto";
  return settings;
}

/// A method with its figures of one suite, or of all.
struct Row {
  std::string label;
  Settings settings;
  const ordered_json* figures;

  bool fixed() const { return settings.policy.empty(); }
  double number(const char* key) const { return (*figures)[key].get<double>(); }
  double rate() const { return number("tokens_per_second"); }
  double verified_a_token() const { return number("verified_tokens") / number("tokens"); }
};

/// Without other engines' rows.
std::vector<Row> rows_of(const ordered_json& methods, const ordered_json& figures) {
  std::vector<Row> rows;
  for (std::size_t m = 0; m < figures.size(); ++m) {
    if (methods[m]["peer"] == true) continue;
    rows.push_back({methods[m]["label"], settings_of(methods[m]), &figures[m]});
  }
  return rows;
}

/// The mean speedup of the first, third, ... rounds, and that of the others; nothing where some were not run.
std::optional<std::pair<double, double>> halves(const Row& row) {
  double sums[2] = {};
  int counts[2] = {};
  for (const ordered_json& speedup : row.figures->value("round_speedups", ordered_json::array())) {
    if (!speedup.is_number() || speedup.get<double>() <= 0) return std::nullopt;
    const int half = (counts[0] + counts[1]) % 2;
    sums[half] += speedup.get<double>();
    counts[half] += 1;
  }
  if (counts[1] == 0) return std::nullopt;
  return std::pair{sums[0] / counts[0], sums[1] / counts[1]};
}

/// What a row reaches of the fixed row that is the best one in the other half of the rounds.
std::optional<double> share_of_chosen(const Row& row, const std::vector<Row>& rows) {
  const auto own = halves(row);
  if (!own) return std::nullopt;
  std::pair<double, double> by_first;   // the best one of the first half
  std::pair<double, double> by_second;  // of the second
  for (const Row& other : rows) {
    if (!other.fixed()) continue;
    const auto its = halves(other);
    if (!its) return std::nullopt;
    if (its->first > by_first.first) by_first = *its;
    if (its->second > by_second.second) by_second = *its;
  }
  return (own->second / by_first.second + own->first / by_second.first) / 2;
}

std::string change(const Row& row, const Row& base, const char* key) {
  return fmt::format("{:+.1f}%", 100 * (row.number(key) / base.number(key) - 1));
}

std::string against_base(const Row& row, const std::vector<Row>& rows) {
  const auto base = std::find_if(rows.begin(), rows.end(), [&](const Row& other) {
    return other.fixed() && other.settings.without_policy() == row.settings.without_policy();
  });
  if (base == rows.end()) return {};
  return fmt::format("    against {}: tokens/s {}, calls {}, verified {}\n", base->label,
                     change(row, *base, "tokens_per_second"), change(row, *base, "calls"),
                     change(row, *base, "verified_tokens"));
}

/// (accepted drafts a call, verified tokens a token) of the drafter's fixed trees, of the family with the
/// most sizes, in ascending order.
std::vector<std::pair<double, double>> tree_sizes(const Row& row, const std::vector<Row>& rows) {
  std::map<std::string, std::vector<std::pair<double, double>>> families;
  for (const Row& other : rows) {
    const Settings& s = other.settings;
    if (!other.fixed() || s.size.empty() || s.drafter != row.settings.drafter) continue;
    families[s.other].emplace_back(other.number("accept_length"), other.verified_a_token());
  }
  const auto most = std::max_element(families.begin(), families.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  if (most == families.end() || most->second.size() < 2) return {};
  std::sort(most->second.begin(), most->second.end());
  return most->second;
}

std::string against_sizes(const Row& row, const std::vector<Row>& rows) {
  const auto sizes = tree_sizes(row, rows);
  const double length = row.number("accept_length");
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const auto& [low, few] = sizes[i - 1];
    const auto& [high, many] = sizes[i];
    if (length < low || length > high || high <= low) continue;
    const double equal = few + (many - few) * (length - low) / (high - low);
    return fmt::format("    {:.2f} accepted a call, for {:.0f}% of the fixed trees' verified tokens\n",
                       length, 100 * row.verified_a_token() / equal);
  }
  return sizes.empty() ? ""
                       : fmt::format("    {:.2f} accepted a call, beyond the fixed trees' sizes\n", length);
}

std::string bars_of(const std::string& title, const std::vector<Row>& rows) {
  std::string text = title + "\n";
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.fixed() && (best == nullptr || row.rate() > best->rate())) best = &row;
  }
  for (const Row& row : rows) {
    if (row.fixed()) continue;
    const auto chosen = share_of_chosen(row, rows);
    text +=
        fmt::format("  {:<36} {:.2f} of {}, {}; {:.2f} of plain\n", row.label, row.rate() / best->rate(),
                    best->label, chosen ? fmt::format("{:.2f} of the row chosen", *chosen) : "one round only",
                    row.rate() / rows.front().rate());
    text += against_base(row, rows) + against_sizes(row, rows);
  }
  return text;
}

}  // namespace

std::string policy_bars(const ordered_json& document) {
  const ordered_json& methods = document["methods"];
  std::string text;
  for (const ordered_json& suite : document["suites"]) {
    if (!suite["methods"].empty()) text += bars_of(suite["name"], rows_of(methods, suite["methods"]));
  }
  if (document["suites"].size() > 1 && !document["overall"].empty()) {
    text += bars_of("all suites", rows_of(methods, document["overall"]));
  }
  return text.empty() ? "Nothing was measured.\n" : text;
}

}  // namespace augur
