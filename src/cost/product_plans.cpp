#include "cost/product_plans.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cost/measured_file.h"
#include "files/json_fields.h"
#include "model/product_plan.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

constexpr int kProductsFormat = 2;

/// Plans by the name of the type.
using Plans = std::map<std::string, GemmPlan>;

Plans read_plans(const fs::path& file, const nlohmann::json& key) {
  Plans plans;
  const nlohmann::json found = read_measured(file, "augur_products", kProductsFormat, key);
  if (found.empty()) return plans;
  if (!found.contains("plans") || !found["plans"].is_object())
    throw Error("{}: plans: expected an object", file.string());
  for (const auto& [type, object] : found["plans"].items()) {
    if (!object.is_object()) throw Error("{}: plans.{}: expected an object", file.string(), type);
    const JsonFields fields(object, file.string(), fmt::format("plans.{}.", type));
    for (const PlanField& field : kPlanFields) {
      field.in(plans[type]) = static_cast<int>(fields.require_int(field.name, field.largest, field.least));
    }
  }
  return plans;
}

void write_plans(const fs::path& file, const nlohmann::json& key, const Plans& plans) {
  nlohmann::json objects;
  for (auto [type, plan] : plans) {
    for (const PlanField& field : kPlanFields) objects[type][field.name] = field.in(plan);
  }
  write_measured(file, {{"augur_products", kProductsFormat}, {"for", key}, {"plans", objects}});
}

}  // namespace

void prepare_products(const Model& model, const fs::path& folder,
                      const std::function<void(std::string_view)>& warning) {
  Backend& backend = model.backend();
  if (const std::optional<GemmPlan> forced = forced_plan()) {
    for (const DType type : model.types()) backend.kernels.plans.set(type, *forced);
    return;
  }
  const nlohmann::json key = circumstances(backend);
  const fs::path file = measured_file(folder, "products", key);
  const auto warn = [&](const Error& error) {
    if (warning) warning(error.what());
  };
  Plans plans;
  try {
    if (!file.empty()) plans = read_plans(file, key);
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
    if (!file.empty() && plans.size() > known) write_plans(file, key, plans);
  } catch (const Error& error) {
    warn(error);
  }
}

}  // namespace augur
