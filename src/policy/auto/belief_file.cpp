#include "policy/auto/belief_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json_fields.h"
#include "policy/auto/beliefs.h"

namespace augur {
namespace {

/// Outcomes, and values of a rank, that an earlier process's count as at most: a text of some fifty tokens
/// overrules them.
constexpr double kOutcomes = 48;
constexpr double kValues = 12;

constexpr double kMostLogit = 50;
constexpr double kMostCount = 1e9;

nlohmann::json pair(double a, double b) {
  return nlohmann::json::array({a, b});
}

nlohmann::json profile_to_json(const RankProfile& profile) {
  nlohmann::json depths = nlohmann::json::array();
  for (const auto& depth : profile.means()) {
    nlohmann::json ranks = nlohmann::json::array();
    for (const RankProfile::Mean& mean : depth) ranks.push_back(pair(mean.value, mean.count));
    depths.push_back(std::move(ranks));
  }
  return depths;
}

/// The array `key` of `count` entries, and entries of two numbers in it.
class Table {
 public:
  Table(const JsonFields& fields, const char* key) : fields_(fields), key_(key) {}

  const nlohmann::json& rows(const nlohmann::json* array, std::size_t count) const {
    if (array == nullptr || !array->is_array() || array->size() != count)
      fields_.fail(key_, fmt::format("expected an array of {}", count));
    return *array;
  }
  std::pair<double, double> numbers(const nlohmann::json& entry, double low, double high) const {
    const nlohmann::json& two = rows(&entry, 2);
    return {number(two[0], low, high), number(two[1], 0, kMostCount)};
  }

 private:
  double number(const nlohmann::json& value, double low, double high) const {
    if (!value.is_number() || !(value.get<double>() >= low) || !(value.get<double>() <= high))
      fields_.fail(key_, fmt::format("expected numbers from {} to {}", low, high));
    return value.get<double>();
  }

  const JsonFields& fields_;
  const char* key_;
};

void read_profile(const JsonFields& fields, const char* key, RankProfile& into) {
  const Table table(fields, key);
  RankProfile::Means means;
  const nlohmann::json& depths = table.rows(fields.find(key), means.size());
  for (std::size_t depth = 0; depth < means.size(); ++depth) {
    const nlohmann::json& ranks = table.rows(&depths[depth], means[depth].size());
    for (std::size_t rank = 0; rank < means[depth].size(); ++rank) {
      const auto [value, count] = table.numbers(ranks[rank], 0, 1);
      means[depth][rank] = {value, count};
    }
  }
  into.restore(means, kValues);
}

}  // namespace

nlohmann::json belief_to_json(const DrafterBelief& belief) {
  nlohmann::json weights = nlohmann::json::array();
  for (const Calibrator::Weight& w : belief.calibrator.weights())
    weights.push_back(pair(w.value, w.curvature));
  return {{"outcomes", belief.calibrator.outcomes()},
          {"calibration", std::move(weights)},
          {"ranks", profile_to_json(belief.profile)},
          {"drawn_ranks", profile_to_json(belief.drawn_profile)}};
}

void read_belief(const nlohmann::json& object, const std::string& file, DrafterBelief& into) {
  const JsonFields fields(object, file, "beliefs.");
  if (!object.is_object()) fields.fail("", "expected an object");
  DrafterBelief read;
  const Table table(fields, "calibration");
  auto weights = read.calibrator.weights();
  const nlohmann::json& entries = table.rows(fields.find("calibration"), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto [value, curvature] = table.numbers(entries[i], -kMostLogit, kMostLogit);
    weights[i] = {value, curvature};
  }
  const double outcomes = fields.require_number("outcomes", 0, kMostCount);
  read.calibrator.restore(weights, std::min(outcomes, kOutcomes));
  read_profile(fields, "ranks", read.profile);
  read_profile(fields, "drawn_ranks", read.drawn_profile);
  into.calibrator = read.calibrator;
  into.profile = read.profile;
  into.drawn_profile = read.drawn_profile;
}

}  // namespace augur
