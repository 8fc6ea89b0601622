#include "cost/product_traversals.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cost/measured_file.h"
#include "files/json_fields.h"
#include "model/product_traversal.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

/// Plans by the name of the type.
using Plans = std::map<std::string, GemmPlan>;

Plans read_plans(const MeasuredFile& file) {
  Plans plans;
  const nlohmann::json found = file.read();
  if (found.empty()) return plans;
  const std::string path = file.path().string();
  if (!found.contains("plans") || !found["plans"].is_object())
    throw Error("{}: plans: expected an object", path);
  for (const auto& [type, object] : found["plans"].items()) {
    if (!object.is_object()) throw Error("{}: plans.{}: expected an object", path, type);
    const JsonFields fields(object, path, fmt::format("plans.{}.", type));
    for (const PlanField& field : kPlanFields) {
      field.in(plans[type]) = static_cast<int>(fields.require_int(field.name, field.largest, field.least));
    }
  }
  return plans;
}

void write_plans(const MeasuredFile& file, const Plans& plans) {
  nlohmann::json objects;
  for (auto [type, plan] : plans) {
    for (const PlanField& field : kPlanFields) objects[type][field.name] = field.in(plan);
  }
  file.write({{"plans", objects}});
}

}  // namespace

void prepare_products(const Model& model, const fs::path& folder,
                      const std::function<void(std::string_view)>& warning) {
  Backend& backend = model.backend();
  if (const std::optional<GemmPlan> forced = forced_plan()) {
    for (const DType type : model.types()) backend.kernels.plans.set(type, *forced);
    return;
  }
  const MeasuredFile file(folder, "products", "augur_products", circumstances(backend));
  const auto warn = [&](const Error& error) {
    if (warning) warning(error.what());
  };
  Plans plans;
  try {
    plans = read_plans(file);
  } catch (const Error& error) {
    warn(Error("{}; the plans of products are measured anew", error.what()));
  }
  const std::size_t known = plans.size();
  for (const DType type : model.types()) {
    auto plan = plans.find(std::string(name(type)));
    if (plan == plans.end()) {
      std::vector<const PackedMatrix*> matrices;
      model.visit_matrices([&](const PackedMatrix& m) {
        if (m.type() == type) matrices.push_back(&m);
      });
      const std::optional<GemmPlan> fastest = fastest_plan(backend, matrices);
      if (!fastest) continue;
      plan = plans.emplace(name(type), *fastest).first;
    }
    backend.kernels.plans.set(type, plan->second);
  }
  try {
    if (!file.path().empty() && plans.size() > known) write_plans(file, plans);
  } catch (const Error& error) {
    warn(error);
  }
}

}  // namespace augur
