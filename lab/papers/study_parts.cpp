#include "lab/papers/study_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/json_reader.h"

namespace augur {
namespace {

using nlohmann::json;
using Values = std::map<std::string, std::string>;

/// What the bins of a hetero part were made for.
void describe_bins(const json& config, Values& values) {
  const int depth = config.value("depth", 8);
  const int alpha = (depth + 1) / 2;
  values["depth"] = std::to_string(depth);
  values["topk"] = std::to_string(config.value("top_k", 10));
  values["alpha"] = std::to_string(alpha);
  values["alpha-"] = std::to_string(std::max(alpha - 1, 1));
  values["alpha+"] = std::to_string(alpha + 1);
}

/// What the study calls a C2T classifier: "c2t" of all features and the usual width, "c2t P+H+d" of the
/// paper's, "c2t P+H" where it sees fewer, "c2t hidden 12" where it is narrower.
std::string name_of_classifier(const json& config) {
  constexpr int kUsualWidth = 48;
  const json features = config.value("features", json::array());
  const auto sees = [&](const char* feature) {
    return std::find(features.begin(), features.end(), feature) != features.end();
  };
  std::vector<std::string> seen;
  for (const char* feature : {"P", "H", "d"}) {
    if (sees(feature)) seen.emplace_back(feature);
  }
  const bool whole = seen.empty() || (seen.size() == 3 && sees("logP"));
  const int width = config.value("hidden", kUsualWidth);
  if (width != kUsualWidth && (whole || seen.size() == 3)) return fmt::format("c2t hidden {}", width);
  return whole ? "c2t" : fmt::format("c2t {}", fmt::join(seen, "+"));
}

// The study's trees have five levels.
constexpr int kVocabularySteps = 5;

/// Lists of a quarter of the vocabulary: as long at every step, or on average by PA-FR's rule.
void describe_list(const json& config, Values& values) {
  const std::int64_t vocab = config.value("vocab", 0);
  double lists = 0;  // of the length of the first
  for (int t = 0; t < kVocabularySteps; ++t) lists += t < 2 ? 1.0 : 1.0 / (t + 1);
  values["quarter"] = std::to_string(std::max<std::int64_t>(vocab / 4, 1));
  values["quarter-first"] = std::to_string(
      std::max<std::int64_t>(std::llround(static_cast<double>(vocab) / 4 * kVocabularySteps / lists), 1));
}

/// The budget that the clusters come with, as many at every step on average, and half of it.
void describe_clusters(const json& config, Values& values) {
  const json budget = config.value("budget", json::object());
  const int first = budget.value("first", 2);
  const int second = budget.value("second", first);
  double sum = 0;
  for (int t = 0; t < kVocabularySteps; ++t) {
    sum += t == 0 ? first : t == 1 ? second : (second + t) / (2.0 * t);
  }
  values["clusters-first"] = std::to_string(first);
  values["clusters-second"] = std::to_string(second);
  values["clusters-half"] = std::to_string(std::max(first / 2, 1));
  values["clusters"] = std::to_string(std::max(std::lround(sum / kVocabularySteps), 1L));
}

bool made_for(const FoundPart& part, const FoundPart& drafter) {
  return part.made_for.empty() || part.made_for == drafter.kind + " " + drafter.name;
}

}  // namespace

StudyParts::StudyParts(const FoundPart& drafter, const std::vector<FoundPart>& parts,
                       const std::string& folder)
    : values_({{"type", drafter.kind}, {"drafter", drafter.name}}), drafter_(drafter), parts_(parts) {
  // The part that the policy would find without a path comes before others of its kind.
  std::stable_partition(parts_.begin(), parts_.end(),
                        [&](const FoundPart& part) { return !part.drafter && part.belongs_to(drafter); });
  for (const FoundPart& part : parts_) {
    if (part.drafter || !made_for(part, drafter)) continue;
    const json config = read_json_object_if_exists(std::filesystem::path(folder) / part.name / "config.json");
    const bool first =
        values_.emplace(part.kind == "c2t" ? name_of_classifier(config) : part.kind, part.name).second;
    if (!first) continue;
    if (part.kind == "hetero") describe_bins(config, values_);
    if (part.kind == "frspec") describe_list(config, values_);
    if (part.kind == "dynaspec") describe_clusters(config, values_);
  }
  if (const auto plain = values_.find("c2t P+H+d"); plain != values_.end()) {
    values_.emplace("c2t", plain->second);
  }
}

std::string StudyParts::filled(std::string text) const {
  for (const auto& [name, value] : values_) text = with_value(std::move(text), name, value);
  return text;
}

std::vector<std::string> StudyParts::all(const std::string& kind) const {
  const std::string_view any = " of any drafter";
  const bool whoever = kind.ends_with(any);
  const std::string sought = whoever ? kind.substr(0, kind.size() - any.size()) : kind;
  std::vector<std::string> names;
  for (const FoundPart& part : parts_) {
    if (!part.drafter && part.kind == sought && (whoever || made_for(part, drafter_)))
      names.push_back(part.name);
  }
  return names;
}

std::string StudyParts::drafter_of(const std::string& type) const {
  if (drafter_.kind == type) return drafter_.name;
  const auto found = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const FoundPart& part) { return part.drafter && part.kind == type; });
  return found == parts_.end() ? std::string() : found->name;
}

std::string with_value(std::string text, const std::string& name, const std::string& value) {
  const std::string mark = "{" + name + "}";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size())) {
    text.replace(at, mark.size(), value);
  }
  return text;
}

}  // namespace augur
