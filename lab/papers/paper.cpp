#include "lab/papers/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "io/json_reader.h"

namespace augur {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Written beside this file in papers/, embedded by the build.
constexpr const char* kPapers =
#include "papers.inc"
    ;

json all_papers() {
  return parse_json(kPapers, "papers.json");
}

/// Replaces every {NAME}.
std::string filled(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string mark = "{" + name + "}";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, mark.size(), value);
    }
  }
  return text;
}

/// What the bins of a hetero part were made for.
void describe_bins(const std::filesystem::path& folder, std::map<std::string, std::string>& values) {
  const json config = read_json_object_if_exists(folder / "config.json");
  const int depth = config.value("depth", 8);
  const int alpha = (depth + 1) / 2;
  values["depth"] = std::to_string(depth);
  values["topk"] = std::to_string(config.value("top_k", 10));
  values["alpha"] = std::to_string(alpha);
  values["alpha-"] = std::to_string(std::max(alpha - 1, 1));
  values["alpha+"] = std::to_string(alpha + 1);
}

/// What the study calls a C2T classifier: "c2t", or "c2t P+H" where it sees fewer features than the paper's.
std::string name_of_classifier(const std::filesystem::path& folder) {
  const json features = read_json_object_if_exists(folder / "config.json").value("features", json::array());
  std::vector<std::string> seen;
  for (const char* feature : {"P", "H", "d"}) {
    if (std::find(features.begin(), features.end(), feature) != features.end()) seen.emplace_back(feature);
  }
  return seen.size() % 3 == 0 ? "c2t" : fmt::format("c2t {}", fmt::join(seen, "+"));
}

// The study's trees have five levels.
constexpr int kVocabularySteps = 5;

/// Lists of a quarter of the vocabulary: as long at every step, or on average by PA-FR's rule.
void describe_list(const std::filesystem::path& folder, std::map<std::string, std::string>& values) {
  const std::int64_t vocab = read_json_object_if_exists(folder / "config.json").value("vocab", 0);
  double lists = 0;  // of the length of the first
  for (int t = 0; t < kVocabularySteps; ++t) lists += t < 2 ? 1.0 : 1.0 / (t + 1);
  values["quarter"] = std::to_string(std::max<std::int64_t>(vocab / 4, 1));
  values["quarter-first"] =
      std::to_string(std::max<std::int64_t>(std::llround(vocab / 4.0 * kVocabularySteps / lists), 1));
}

/// The budget that the clusters come with, and as many at every step on average.
void describe_clusters(const std::filesystem::path& folder, std::map<std::string, std::string>& values) {
  const json config = read_json_object_if_exists(folder / "config.json");
  const json budget = config.value("budget", json::object());
  const int first = budget.value("first", 2);
  const int second = budget.value("second", first);
  double sum = 0;
  for (int t = 0; t < kVocabularySteps; ++t) {
    sum += t == 0 ? first : t == 1 ? second : (second + t) / (2.0 * t);
  }
  values["clusters-first"] = std::to_string(first);
  values["clusters-second"] = std::to_string(second);
  values["clusters"] = std::to_string(std::max(std::lround(sum / kVocabularySteps), 1L));
}

PaperRow row_of(const json& from, const std::map<std::string, std::string>& values) {
  const std::string method = "{type}:model={drafter}," + from.at("settings").get<std::string>();
  PaperRow row{from.at("label"), filled(method, values), {}};
  const json paper = from.value("paper", json::object());  // outlives the loop over it
  for (const auto& [model, figures] : paper.items()) {
    for (const json& figure : figures) {
      row.paper[model].push_back(figure.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                  : figure.get<double>());
    }
  }
  return row;
}

double figure_of(const ordered_json& row, const std::string& column) {
  return row.at(column == "verified" ? "verified_tokens" : column).get<double>();
}

/// A figure; counts as their change against the table's first row.
std::string shown(const std::string& column, double value, double first) {
  if (std::isnan(value)) return "";
  if (column == "speedup") return fmt::format("{:.2f}x", value);
  if (column != "calls" && column != "verified") return fmt::format("{:.2f}", value);
  return value == first ? fmt::format("{:.0f}", value)
                        : fmt::format("{:.0f} ({:+.1f}%)", value, 100 * (value / first - 1));
}

}  // namespace

std::vector<std::string> PaperStudy::methods() const {
  std::vector<std::string> all = {"plain"};
  for (const PaperTable& table : tables) {
    for (const PaperRow& row : table.rows) {
      if (std::find(all.begin(), all.end(), row.method) == all.end()) all.push_back(row.method);
    }
  }
  return all;
}

std::vector<std::string> paper_names() {
  const json papers = all_papers();  // outlives the loop over it
  std::vector<std::string> names;
  for (const auto& [name, paper] : papers.items()) names.push_back(name);
  return names;
}

PaperStudy paper_study(const std::string& name, const FoundPart& drafter, const std::vector<FoundPart>& parts,
                       const std::string& folder) {
  const json papers = all_papers();
  if (!papers.contains(name))
    throw Error("there is no study of '{}': {}", name, fmt::join(paper_names(), ", "));
  const json& paper = papers[name];
  std::map<std::string, std::string> values = {{"type", drafter.kind}, {"drafter", drafter.name}};
  for (const FoundPart& part : parts) {
    if (part.drafter || (!part.made_for.empty() && part.made_for != drafter.kind + " " + drafter.name))
      continue;
    const std::filesystem::path where = std::filesystem::path(folder) / part.name;
    values.emplace(part.kind == "c2t" ? name_of_classifier(where) : part.kind, part.name);
    if (part.kind == "hetero") describe_bins(where, values);
    if (part.kind == "frspec") describe_list(where, values);
    if (part.kind == "dynaspec") describe_clusters(where, values);
  }
  for (const json& need : paper.at("needs")) {
    if (values.count(need.get<std::string>()) == 0) {
      throw Error("{}: no {} part made for {} (see `augur train`)", folder, need.get<std::string>(),
                  drafter.name);
    }
  }
  PaperStudy study{paper.at("title"), paper.at("differs"), {}};
  for (const json& from : paper.at("tables")) {
    PaperTable table{from.at("title"), from.at("columns").get<std::vector<std::string>>(), {}};
    for (const json& row : from.at("rows")) {
      if (row.contains("needs") && values.count(row["needs"].get<std::string>()) == 0) continue;
      table.rows.push_back(row_of(row, values));
    }
    study.tables.push_back(std::move(table));
  }
  return study;
}

std::string paper_tables(const PaperStudy& study, const ordered_json& document) {
  std::map<std::string, std::size_t> place;
  for (std::size_t m = 0; m < document["methods"].size(); ++m) place[document["methods"][m]["text"]] = m;
  const ordered_json& rows = document["overall"];
  if (rows.empty()) return "nothing has been measured with all methods yet\n";
  std::string text = study.title + "\n";
  for (const PaperTable& table : study.tables) {
    text += fmt::format("\n{}\n{:<34}", table.title, "");
    for (const std::string& column : table.columns) text += fmt::format(" {:>20}", column);
    text += "\n";
    const auto line = [&](const std::string& label, auto&& value, auto&& first) {
      std::string out = fmt::format("{:<34}", label);
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        out += fmt::format(" {:>20}", shown(table.columns[c], value(c), first(c)));
      }
      out.erase(out.find_last_not_of(' ') + 1);
      return out + "\n";
    };
    const auto ours = [&](const PaperRow& row) {
      return [&, at = place.at(row.method)](std::size_t c) { return figure_of(rows[at], table.columns[c]); };
    };
    for (const PaperRow& row : table.rows) {
      text += line(row.label, ours(row), ours(table.rows.front()));
      for (const auto& [model, figures] : row.paper) {
        const auto base = table.rows.front().paper.find(model);
        const auto& first = base == table.rows.front().paper.end() ? figures : base->second;
        text += line(
            "    paper, " + model, [&own = figures](std::size_t c) { return own.at(c); },
            [&](std::size_t c) { return first.at(c); });
      }
    }
  }
  return text + "\nWhat differs: " + study.differs + "\n";
}

}  // namespace augur
