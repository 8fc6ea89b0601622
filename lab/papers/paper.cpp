#include "lab/papers/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "files/json_reader.h"
#include "lab/papers/study_parts.h"

namespace augur {
namespace {

using nlohmann::json;

// Written beside this file in papers/, embedded by the build.
constexpr const char* kPapers =
#include "papers.inc"
    ;

json all_papers() {
  return parse_json(kPapers, "papers.json");
}

constexpr std::array<std::string_view, 7> kWhere = {"table",       "row",  "model", "dataset",
                                                    "temperature", "lost", "doubt"};

/// `from` over what its table says of all its readings.
PaperReading reading_of(json from, const json& source) {
  for (const auto& [key, value] : source.items()) {
    if (!from.contains(key)) from[key] = value;
  }
  PaperReading reading{.table = from.at("table"),
                       .row = from.at("row"),
                       .model = from.at("model"),
                       .dataset = from.at("dataset"),
                       .temperature = from.at("temperature"),
                       .figures = {},
                       .remark = from.value("lost", from.value("doubt", std::string()))};
  for (const auto& [key, value] : from.items()) {
    if (std::find(kWhere.begin(), kWhere.end(), key) == kWhere.end()) reading.figures[key] = value;
  }
  return reading;
}

std::vector<PaperReading> readings_of(const json& row, const json& source) {
  std::vector<PaperReading> readings;
  for (const json& reading : row.value("paper", json::array())) {
    readings.push_back(reading_of(reading, source));
  }
  return readings;
}

/// The row, or one for every part of a kind; none where what it needs is not there.
void add_rows(const json& from, const json& source, const StudyParts& parts, std::vector<PaperRow>& rows) {
  if (from.contains("needs") && !parts.has(from["needs"])) return;
  std::vector<PaperReading> readings = readings_of(from, source);
  const std::string label = from.at("label");
  if (!from.contains("settings")) {
    rows.push_back({label, "", std::move(readings)});
    return;
  }
  std::string method = "{type}:model={drafter}," + from["settings"].get<std::string>();
  if (from.contains("drafter")) {
    const std::string type = from["drafter"];
    const std::string drafter = parts.drafter_of(type);
    if (drafter.empty()) return;
    method = fmt::format("{}:model={},{}", type, drafter, from["settings"].get<std::string>());
  }
  if (!from.contains("each")) {
    rows.push_back({label, parts.filled(method), std::move(readings)});
    return;
  }
  for (const std::string& part : parts.all(from["each"])) {
    rows.push_back(
        {with_value(label, "part", part), parts.filled(with_value(method, "part", part)), readings});
  }
}

}  // namespace

std::vector<std::string> PaperStudy::methods() const {
  std::vector<std::string> all = {"plain"};
  for (const PaperTable& table : tables) {
    for (const PaperRow& row : table.rows) {
      if (!row.method.empty() && std::find(all.begin(), all.end(), row.method) == all.end())
        all.push_back(row.method);
    }
  }
  return all;
}

std::vector<std::string> paper_names() {
  const json papers = all_papers().at("papers");  // outlives the loop over it
  std::vector<std::string> names;
  for (const auto& [name, paper] : papers.items()) names.push_back(name);
  return names;
}

std::vector<PaperReading> paper_readings(const std::string& name) {
  const json paper = all_papers().at("papers").at(name);  // outlives the loops over it
  std::vector<PaperReading> readings;
  for (const json& table : paper.at("tables")) {
    const json source = table.value("source", json::object());
    for (const json& row : table.at("rows")) {
      for (PaperReading& reading : readings_of(row, source)) readings.push_back(std::move(reading));
    }
  }
  return readings;
}

PaperStudy paper_study(const std::string& name, const FoundPart& drafter, const std::vector<FoundPart>& parts,
                       const std::string& folder) {
  const json all = all_papers();
  const json& papers = all.at("papers");
  if (!papers.contains(name))
    throw Error("there is no study of '{}': {}", name, fmt::join(paper_names(), ", "));
  const json& paper = papers[name];
  const StudyParts found(drafter, parts, folder);
  for (const json& need : paper.at("needs")) {
    if (!found.has(need)) {
      throw Error("{}: no {} part made for {} (see `augur train`)", folder, need.get<std::string>(),
                  drafter.name);
    }
  }
  PaperStudy study{paper.at("title"), paper.at("differs"), {}, {}};
  for (const auto& [dataset, suite] : all.at("suites").items()) study.suites[dataset] = suite;
  for (const json& from : paper.at("tables")) {
    PaperTable table{.title = from.at("title"),
                     .columns = from.at("columns"),
                     .rows = {},
                     .by_suite = from.value("by", std::string()) == "suite",
                     .lengths = from.value("lengths", false)};
    const json source = from.value("source", json::object());
    for (const json& row : from.at("rows")) add_rows(row, source, found, table.rows);
    if (!table.rows.empty()) study.tables.push_back(std::move(table));
  }
  return study;
}

}  // namespace augur
