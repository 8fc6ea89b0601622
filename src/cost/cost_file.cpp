#include "cost/cost_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "files/json_fields.h"

namespace augur {
namespace {

/// Not negative, and not so large that sums of it are none.
double require_figure(const JsonFields& fields, const char* key) {
  return fields.require_number(key, 0.0, std::numeric_limits<float>::max());
}

nlohmann::json curve_to_json(const CostCurve& curve) {
  nlohmann::json knots = nlohmann::json::array();
  for (std::size_t i = 0; i < CostCurve::kRows.size(); ++i) {
    knots.push_back(
        {{"rows", CostCurve::kRows[i]}, {"ms", curve.fastest_ms(i)}, {"doubt", curve.fastest().doubt(i)}});
  }
  return knots;
}

void read_curve(const nlohmann::json& object, const char* key, const std::string& file, CostCurve& into) {
  const JsonFields fields(object, file);
  const nlohmann::json* knots = fields.find(key);
  if (knots == nullptr || !knots->is_array() || knots->size() != CostCurve::kRows.size()) {
    fields.fail(key, fmt::format("expected an array of {} times", CostCurve::kRows.size()));
  }
  for (std::size_t i = 0; i < CostCurve::kRows.size(); ++i) {
    if (!(*knots)[i].is_object()) fields.fail(key, fmt::format("entry {} is no object", i));
    const JsonFields knot((*knots)[i], file, fmt::format("{}[{}].", key, i));
    const double rows = CostCurve::kRows[i];
    knot.require_number("rows", rows, rows);
    into.set(rows, require_figure(knot, "ms"), require_figure(knot, "doubt"));
  }
  into.settle();
}

void read_experts(const nlohmann::json& object, const std::string& file, CostModel& into) {
  const nlohmann::json* experts = JsonFields(object, file).find("experts");
  if (experts == nullptr || !experts->is_object()) {
    JsonFields(object, file).fail("experts", "expected an object, as the model has experts");
  }
  const JsonFields fields(*experts, file, "experts.");
  const ExpertDemand& known = into.experts();
  const nlohmann::json* pools = fields.find("pools");
  if (pools == nullptr || !pools->is_array() || pools->size() != ExpertDemand::kPools) {
    fields.fail("pools", fmt::format("expected an array of {} numbers", ExpertDemand::kPools));
  }
  std::vector<double> read;
  for (const nlohmann::json& pool : *pools) {
    const double value = pool.is_number() ? pool.get<double>() : -1;
    if (!(value >= known.active() && value <= known.largest_pool())) {
      fields.fail("pools", fmt::format("expected numbers from {} to {}, found {}", known.active(),
                                       known.largest_pool(), pool.dump()));
    }
    read.push_back(value);
  }
  into.set_expert_share(fields.require_number("share", 0.0, 1.0));
  into.experts().set_pools(read);
}

}  // namespace

nlohmann::json target_costs_to_json(const CostModel& costs) {
  nlohmann::json object = {{"verify", curve_to_json(costs.verify_curve())},
                           {"other_ms", costs.other_curve().fastest_ms(0)},
                           {"context", costs.reference_context()},
                           {"growth_one_row", costs.growth_one()},
                           {"growth_many_rows", costs.growth_many()}};
  if (!costs.experts().dense()) {
    object["experts"] = {{"share", costs.expert_share()}, {"pools", costs.experts().pools()}};
  }
  return object;
}

nlohmann::json draft_costs_to_json(const DraftCosts& costs) {
  nlohmann::json object = {{"root", curve_to_json(costs.root())}};
  // One-shot drafters have no further levels.
  if (costs.levels().observed()) object["levels"] = curve_to_json(costs.levels());
  return object;
}

void read_target_costs(const nlohmann::json& object, const std::string& file, CostModel& into) {
  const JsonFields fields(object, file);
  CostCurve verify(1.0, 0.0);
  read_curve(object, "verify", file, verify);
  const double other = require_figure(fields, "other_ms");
  const double context = require_figure(fields, "context");
  const double one = fields.require_number("growth_one_row", 0.0, 1.0);
  const double many = fields.require_number("growth_many_rows", 0.0, 1.0);
  if (!into.experts().dense()) read_experts(object, file, into);
  into.verify_curve() = verify;
  into.other_curve().set(1, other);
  into.set_growth(context, one, many);
}

void read_draft_costs(const nlohmann::json& object, const std::string& file, DraftCosts& into) {
  DraftCosts costs;
  read_curve(object, "root", file, costs.root());
  if (object.contains("levels")) read_curve(object, "levels", file, costs.levels());
  into = costs;
}

}  // namespace augur
