#include "cost/product_traversals.h"

#include <fmt/format.h>

#include <limits>
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

constexpr const char* kDoubt = "doubt";

/// Traversals by the name of the type.
using Traversals = std::map<std::string, ChosenTraversal>;

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
    ChosenTraversal& chosen = traversals[type];
    for (const TraversalField& field : kTraversalFields) {
      field.in(chosen.traversal) =
          static_cast<int>(fields.require_int(field.name, field.largest, field.least));
    }
    chosen.doubt = fields.require_number(kDoubt, 0, std::numeric_limits<double>::max());
  }
  return traversals;
}

void write_traversals(const MeasuredFile& file, const Traversals& traversals) {
  nlohmann::json objects;
  for (auto [type, chosen] : traversals) {
    for (const TraversalField& field : kTraversalFields)
      objects[type][field.name] = field.in(chosen.traversal);
    objects[type][kDoubt] = chosen.doubt;
  }
  file.write({{"plans", objects}});
}

}  // namespace

void prepare_products(const Model& model, const fs::path& folder, const Log& log) {
  Backend& backend = model.backend();
  if (const std::optional<GemmTraversal> forced = forced_traversal()) {
    for (const DType type : model.types()) backend.kernels.traversals.set(type, *forced);
    return;
  }
  const MeasuredFile file(folder, "products", "augur_products", circumstances(backend));
  const auto warn = [&](const Error& error) { log.warning("{}", error.what()); };
  Traversals traversals;
  try {
    traversals = read_traversals(file);
  } catch (const Error& error) {
    warn(Error("{}; the traversals of products are measured anew", error.what()));
  }
  bool measured = false;
  for (const DType type : model.types()) {
    auto known = traversals.find(std::string(name(type)));
    if (known == traversals.end() || known->second.in_doubt()) {
      std::vector<const PackedMatrix*> matrices;
      model.visit_matrices([&](const PackedMatrix& m) {
        if (m.type() == type) matrices.push_back(&m);
      });
      if (const std::optional<ChosenTraversal> fastest = fastest_traversal(backend, matrices)) {
        known = traversals.try_emplace(std::string(name(type)), *fastest).first;
        if (fastest->doubt < known->second.doubt) known->second = *fastest;
        measured = true;
      }
    }
    if (known != traversals.end()) backend.kernels.traversals.set(type, known->second.traversal);
  }
  try {
    if (!file.path().empty() && measured) write_traversals(file, traversals);
  } catch (const Error& error) {
    warn(error);
  }
}

}  // namespace augur
