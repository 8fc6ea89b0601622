#include "lab/suite/figure_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "lab/suite/csv.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

constexpr const char* kNumbers[] = {"tokens_per_second",
                                    "with_prompt_per_second",
                                    "speedup",
                                    "speedup_with_prompt",
                                    "share_of_best",
                                    "tau",
                                    "accept_length",
                                    "tokens",
                                    "calls",
                                    "verified_tokens",
                                    "drafted_tokens",
                                    "accepted_tokens",
                                    "draft_ms",
                                    "classify_ms",
                                    "verify_ms",
                                    "other_ms",
                                    "different",
                                    "slowest_prompt"};
constexpr const char* kIntervals[] = {"speedup_interval", "tau_interval"};

std::string header() {
  std::string line = "suite,prompts,method";
  for (const char* name : kNumbers) line += fmt::format(",{}", name);
  for (const char* name : kIntervals) line += fmt::format(",{0}_low,{0}_high", name);
  return line + "\n";
}

std::string lines(const ordered_json& suite, const ordered_json& prompts, const ordered_json& methods,
                  const ordered_json& rows) {
  std::string text;
  for (std::size_t m = 0; m < rows.size(); ++m) {
    text += fmt::format("{},{},{}", csv_field(suite), csv_field(prompts), csv_field(methods[m]["label"]));
    for (const char* name : kNumbers) text += "," + csv_field(rows[m].value(name, ordered_json()));
    for (const char* name : kIntervals) {
      const ordered_json interval = rows[m].value(name, ordered_json());
      const bool known = interval.is_array() && interval.size() == 2;
      for (const std::size_t end : {0, 1}) text += "," + (known ? csv_field(interval[end]) : std::string());
    }
    text += "\n";
  }
  return text;
}

std::vector<std::string> suite_names(const ordered_json& document) {
  std::vector<std::string> names;
  for (const ordered_json& suite : document["suites"]) names.push_back(suite["name"]);
  return names;
}

/// The row of the method that is written `text`; empty where the document has none.
std::string length_row(const ordered_json& document, const std::string& text) {
  const ordered_json& methods = document["methods"];
  const auto found = std::find_if(methods.begin(), methods.end(),
                                  [&](const ordered_json& method) { return method["text"] == text; });
  if (found == methods.end()) return {};
  const auto m = static_cast<std::size_t>(found - methods.begin());
  std::string row = fmt::format("| temperature {:g} |", document["settings"]["temperature"].get<double>());
  double sum = 0;
  for (const ordered_json& suite : document["suites"]) {
    const double tau = suite["methods"][m]["tau"];
    sum += tau;
    row += fmt::format(" {:.2f} |", tau);
  }
  return row + fmt::format(" {:.2f} | {:.2f} |\n", document["overall"][m]["tau"].get<double>(),
                           sum / static_cast<double>(document["suites"].size()));
}

}  // namespace

std::string csv_of_figures(const ordered_json& document) {
  const ordered_json& methods = document["methods"];
  std::string csv = header();
  std::int64_t prompts = 0;
  for (const ordered_json& suite : document["suites"]) {
    const ordered_json own = suite.value("prompts", ordered_json());
    csv += lines(suite["name"], own, methods, suite["methods"]);
    if (own.is_number()) prompts += own.get<std::int64_t>();
  }
  if (document["suites"].size() > 1) csv += lines("all suites", prompts, methods, document["overall"]);
  return csv;
}

std::string accepted_lengths(std::span<const ordered_json> documents) {
  const std::vector<std::string> names = suite_names(documents.front());
  std::vector<std::string> methods;
  for (const ordered_json& document : documents) {
    if (suite_names(document) != names) throw Error("the files are of different suites");
    for (const ordered_json& suite : document["suites"]) {
      if (suite["methods"].empty()) throw Error("{}: not measured yet", suite["name"].get<std::string>());
    }
    for (const ordered_json& method : document["methods"]) {
      const std::string text = method["text"];
      const bool known = std::find(methods.begin(), methods.end(), text) != methods.end();
      if (text != "plain" && !known) methods.push_back(text);
    }
  }
  std::string tables;
  for (const std::string& method : methods) {
    tables += fmt::format("{}`{}`\n\n| | {} | all | suites |\n| ---", tables.empty() ? "" : "\n", method,
                          fmt::join(names, " | "));
    for (std::size_t column = 0; column < names.size() + 2; ++column) tables += " | ---";
    tables += " |\n";
    for (const ordered_json& document : documents) tables += length_row(document, method);
  }
  return tables;
}

}  // namespace augur
