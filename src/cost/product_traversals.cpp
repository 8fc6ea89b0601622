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

/// Traversals by the name of the type.
using Traversals = std::map<std::string, GemmTraversal>;

Traversals read_traversals(const MeasuredFile& file) {
  Traversals traversals;
  const nlohmann::json found = file.read();
  if (found.empty()) return traversals;
  const std::string path = file.path().string();
  if (!found.contains("plans") || !found["plans"].is_object())
    throw Error("{}: plans: expected an object", path);
  for (const auto& [type, object] : found["plans"].items()) {
    if (!object.is_object()) throw Error("{}: plans.{}: expected an object", path, type);
    const JsonFields fields(object, path, fmt::format("plans.{}.", type));
    for (const TraversalField& field : kTraversalFields) {
      field.in(traversals[type]) =
          static_cast<int>(fields.require_int(field.name, field.largest, field.least));
    }
  }
  return traversals;
}

void write_traversals(const MeasuredFile& file, const Traversals& traversals) {
  nlohmann::json objects;
  for (auto [type, traversal] : traversals) {
    for (const TraversalField& field : kTraversalFields) objects[type][field.name] = field.in(traversal);
  }
  file.write({{"plans", objects}});
}

}  // namespace

void prepare_products(const Model& model, const fs::path& folder,
                      const std::function<void(std::string_view)>& warning) {
  Backend& backend = model.backend();
  if (const std::optional<GemmTraversal> forced = forced_traversal()) {
    for (const DType type : model.types()) backend.kernels.traversals.set(type, *forced);
    return;
  }
  const MeasuredFile file(folder, "products", "augur_products", circumstances(backend));
  const auto warn = [&](const Error& error) {
    if (warning) warning(error.what());
  };
  Traversals traversals;
  try {
    traversals = read_traversals(file);
  } catch (const Error& error) {
    warn(Error("{}; the traversals of products are measured anew", error.what()));
  }
  const std::size_t known = traversals.size();
  for (const DType type : model.types()) {
    auto traversal = traversals.find(std::string(name(type)));
    if (traversal == traversals.end()) {
      std::vector<const PackedMatrix*> matrices;
      model.visit_matrices([&](const PackedMatrix& m) {
        if (m.type() == type) matrices.push_back(&m);
      });
      const std::optional<GemmTraversal> fastest = fastest_traversal(backend, matrices);
      if (!fastest) continue;
      traversal = traversals.emplace(name(type), *fastest).first;
    }
    backend.kernels.traversals.set(type, traversal->second);
  }
  try {
    if (!file.path().empty() && traversals.size() > known) write_traversals(file, traversals);
  } catch (const Error& error) {
    warn(error);
  }
}

}  // namespace augur
