#include "lab/papers/paper_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/papers/draft_length.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

constexpr const char* kMean = "Mean";  // the paper's, over its data sets
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Of the rounds that were run, as samples.
double variance_of_rounds(const ordered_json& row) {
  std::vector<double> speedups;
  for (const double speedup : row.at("round_speedups").get<std::vector<double>>()) {
    if (speedup > 0) speedups.push_back(speedup);
  }
  if (speedups.size() < 2) return kNone;
  const auto count = static_cast<double>(speedups.size());
  double mean = 0;
  for (const double speedup : speedups) mean += speedup / count;
  double squares = 0;
  for (const double speedup : speedups) squares += (speedup - mean) * (speedup - mean);
  return squares / (count - 1);
}

/// Ours, of a row of the suite's document; NaN where it has none.
double our_figure(const ordered_json& row, const std::string& column) {
  const auto seconds = [&](const char* key) { return row.at(key).get<double>() / 1000; };
  if (column == "variance") return variance_of_rounds(row);
  if (column == "draft_s") return seconds("draft_ms") - seconds("classify_ms");
  if (column == "additional_s") return seconds("classify_ms") > 0 ? seconds("classify_ms") : kNone;
  if (column == "verify_s") return seconds("verify_ms");
  if (column == "other_s") return seconds("other_ms");
  if (column == "total_s") return seconds("draft_ms") + seconds("verify_ms") + seconds("other_ms");
  if (column == "average_length") {
    return row.at("verified_tokens").get<double>() / std::max(row.at("calls").get<double>(), 1.0) - 1;
  }
  const auto figure = row.find(column == "verified" ? "verified_tokens" : column);
  return figure == row.end() ? kNone : figure->get<double>();
}

/// The paper's: HeteroSpec counts verified "tokens", C2T "candidates".
double figure_of(const PaperReading& reading, const std::string& column) {
  for (const char* name : {column.c_str(), "tokens", "candidates"}) {
    const auto figure = reading.figures.find(name);
    if (figure != reading.figures.end()) return figure->second;
    if (column != "verified") break;
  }
  return kNone;
}

/// A figure; counts as their change against the table's first row.
std::string shown(const std::string& column, double value, double first) {
  if (std::isnan(value)) return "";
  if (column == "speedup") return fmt::format("{:.2f}x", value);
  if (column == "variance") return fmt::format("{:.4f}", value);
  if (column == "additional_s" && value < 0.1) return fmt::format("{:.6f}", value);
  if (column == "vocab_size") return fmt::format("{:.0f}", value);
  if (column != "calls" && column != "verified") return fmt::format("{:.2f}", value);
  return value == first || std::isnan(first)
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.0f} ({:+.1f}%)", value, 100 * (value / first - 1));
}

std::size_t label_width(const PaperTable& table) {
  std::size_t width = 34;
  for (const PaperRow& row : table.rows) {
    if (!row.method.empty()) width = std::max(width, row.label.size());
  }
  return width;
}

/// Whether there is more to show of all suites than of the one.
bool has_mean(const PaperTable& table, const ordered_json& document) {
  if (document["suites"].size() > 1) return true;
  for (const PaperRow& row : table.rows) {
    for (const PaperReading& reading : row.paper) {
      if (reading.dataset == kMean) return true;
    }
  }
  return false;
}

/// What is shown of one table: our rows of a suite or of all, and the paper's readings that belong to it.
class View {
 public:
  View(const PaperTable& table, const ordered_json& rows, const std::map<std::string, std::size_t>& place)
      : table_(table), rows_(rows), place_(place) {}

  /// Readings of this temperature, and of data sets for which `belongs` is true.
  template <class Belongs>
  std::string text(double temperature, const Belongs& belongs) const {
    std::string out;
    const ordered_json* first = nullptr;
    std::map<std::string, const PaperReading*> first_of;  // by model and data set
    for (const PaperRow& row : table_.rows) {
      const ordered_json* ours = row.method.empty() ? nullptr : &rows_[place_.at(row.method)];
      if (first == nullptr) first = ours;
      std::string paper;
      for (const PaperReading& reading : row.paper) {
        if (reading.temperature != temperature || !belongs(reading.dataset)) continue;
        const PaperReading& base =
            *first_of.emplace(reading.model + "\n" + reading.dataset, &reading).first->second;
        paper += line(
            fmt::format("    paper{}{}", reading.model.empty() ? "" : ", ", reading.model),
            [&](const std::string& column) { return figure_of(reading, column); },
            [&](const std::string& column) { return figure_of(base, column); });
        if (!reading.remark.empty()) paper += "      " + reading.remark + "\n";
      }
      if (ours != nullptr) {
        out += line(
            row.label, [&](const std::string& column) { return our_figure(*ours, column); },
            [&](const std::string& column) { return our_figure(*first, column); });
      } else if (!paper.empty()) {
        out += row.label + "\n";
      }
      out += paper;
    }
    return out;
  }

 private:
  template <class Value, class First>
  std::string line(const std::string& label, const Value& value, const First& first) const {
    std::string out = fmt::format("{:<{}}", label, label_width(table_));
    for (const std::string& column : table_.columns) {
      out += fmt::format(" {:>20}", shown(column, value(column), first(column)));
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  }

  const PaperTable& table_;
  const ordered_json& rows_;
  const std::map<std::string, std::size_t>& place_;
};

std::string head_of(const PaperTable& table, const std::string& of) {
  std::string out =
      fmt::format("\n{}{}\n{:<{}}", table.title, of.empty() ? "" : ": " + of, "", label_width(table));
  for (const std::string& column : table.columns) out += fmt::format(" {:>20}", column);
  return out + "\n";
}

/// The last row is the longest chain.
std::string lengths_of(const PaperTable& table, const ordered_json& rows,
                       const std::map<std::string, std::size_t>& place) {
  return draft_lengths(chain_figures(rows[0], rows[place.at(table.rows.back().method)]));
}

}  // namespace

std::string paper_tables(const PaperStudy& study, const ordered_json& document) {
  std::map<std::string, std::size_t> place;
  for (std::size_t m = 0; m < document["methods"].size(); ++m) place[document["methods"][m]["text"]] = m;
  const ordered_json& overall = document["overall"];
  if (overall.empty()) return "nothing has been measured with all methods yet\n";
  const double temperature = document["settings"]["temperature"];
  const auto in = [&](const std::string& suite) {
    return [&study, suite](const std::string& dataset) {
      const auto known = study.suites.find(dataset);
      return known != study.suites.end() && known->second == suite;
    };
  };
  std::string text = study.title + "\n";
  for (const PaperTable& table : study.tables) {
    if (!table.by_suite) {
      text += head_of(table, "");
      text += View(table, overall, place).text(temperature, [](const std::string&) { return true; });
      if (table.lengths) text += lengths_of(table, overall, place);
      continue;
    }
    for (const ordered_json& suite : document["suites"]) {
      if (suite["methods"].empty()) continue;
      const std::string name = suite["name"];
      text += head_of(table, name) + View(table, suite["methods"], place).text(temperature, in(name));
    }
    if (!has_mean(table, document)) continue;
    text += head_of(table, "mean of the suites");
    text += View(table, overall, place).text(temperature, [](const std::string& dataset) {
      return dataset == kMean;
    });
  }
  return text + "\nWhat differs: " + study.differs + "\n";
}

}  // namespace augur
