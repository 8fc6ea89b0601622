#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "grammar/schema/normaliser.h"

namespace augur {
namespace {

constexpr double kLongest = 10000;  ///< of lengths and counts

}  // namespace

void Normaliser::refuse(const Json& schema, std::string_view key, std::string_view why,
                        ErrorKind kind) const {
  throw Error(kind, "JSON schema: {}/{} {}", document_.place(&schema), key, why);
}

const Json* Normaliser::target(const Json& schema, const std::string& key) {
  const Json& reference = schema[key];
  if (!reference.is_string()) refuse(schema, key, "is to be a string");
  const auto written = reference.get<std::string>();
  const Json* const found = document_.resolve(&schema, written);
  if (key != "$ref" && document_.depends_on_path(found, written)) {
    refuse(schema, key,
           fmt::format("'{}' leads to another schema by each way to it, which is not supported", written),
           ErrorKind::Unsupported);
  }
  return found;
}

unsigned Normaliser::types_of(const Json& schema, const Json& value) {
  constexpr std::array kTypes = {std::pair{"integer", kInteger + 0u}, std::pair{"number", kNumber + 0u},
                                 std::pair{"string", kString + 0u},   std::pair{"boolean", kBoolean + 0u},
                                 std::pair{"null", kNull + 0u},       std::pair{"array", kArray + 0u},
                                 std::pair{"object", kObject + 0u}};
  unsigned types = 0;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    if (one == "any" && document_.draft() == Draft::Four) return kEveryType;  // draft 3's
    const auto found =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return one == type.first; });
    if (found == kTypes.end()) refuse(schema, "type", "is to be one of JSON's types, or a list of them");
    types |= found->second;
  }
  if (types == 0) refuse(schema, "type", "is an empty list");
  return types;
}

/// Draft 4's exclusive bounds are flags beside the others.
Bound Normaliser::bound(const Json& schema, const std::string& key, const Json& value, bool& applies) const {
  const bool exclusive = key.starts_with("exclusive");
  if (exclusive && value.is_boolean()) {
    applies = false;
    return {};
  }
  if (!value.is_number()) refuse(schema, key, "is to be a number");
  const std::string flag = key == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum";
  const bool flagged = !exclusive && schema.contains(flag) && schema[flag] == true;
  return {decimal_of(value), exclusive || flagged};
}

Counts Normaliser::counts(const Json& schema, const std::string& key, const Json& value) const {
  const double count = value.is_number() ? value.get<double>() : -1;
  const bool most = key.starts_with("max") || key == "minContains";
  if (count < 0 || count != std::floor(count) || (count > kLongest && !most)) {
    refuse(schema, key, fmt::format("is to be an integer from 0 to {}", kLongest));
  }
  if (!most) return {static_cast<int>(count), kWithoutEnd};
  if (count > kLongest) refuse(schema, key, fmt::format("is to be an integer from 0 to {}", kLongest));
  return {0, static_cast<int>(count)};
}

}  // namespace augur
