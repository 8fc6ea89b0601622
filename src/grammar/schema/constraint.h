#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/schema/decimals.h"
#include "grammar/work_meter.h"

namespace augur {

using Json = nlohmann::ordered_json;  // properties are written in the schema's order

/// A schema of the document that is to hold, or not to hold, of a value.
struct Literal {
  const Json* schema = nullptr;
  bool holds = true;
  auto operator<=>(const Literal&) const = default;
};
/// All of them. The order decides in which properties are written.
using Conjunction = std::vector<Literal>;
void add(Conjunction& all, const Literal& one);

/// Types as bits; a number is an integer or has a fraction.
enum Type : unsigned {
  kNull = 1,
  kFalse = 2,
  kTrue = 4,
  kInteger = 8,
  kFraction = 16,
  kString = 32,
  kArray = 64,
  kObject = 128,
  kBoolean = kFalse | kTrue,
  kNumber = kInteger | kFraction,
  kEveryType = 255
};
Type type_of(const Json& value);

inline constexpr int kWithoutEnd = -1;
/// How many there may be.
struct Counts {
  int least = 0, most = kWithoutEnd;
  bool any() const { return least == 0 && most == kWithoutEnd; }
  bool have(std::size_t count) const {
    return static_cast<int>(count) >= least && (most == kWithoutEnd || static_cast<int>(count) <= most);
  }
  void meet(const Counts& other);
  bool contradictory() const { return most != kWithoutEnd && least > most; }
};

struct StringRules {
  Counts length;
  std::vector<std::string> patterns, not_patterns;  ///< ECMA's notation, found anywhere
  std::vector<std::string> formats;                 ///< those that can be enforced
  bool any() const { return length.any() && patterns.empty() && not_patterns.empty() && formats.empty(); }
};

struct ArrayRules {
  /// What one schema says of items: of the first ones, and of the others.
  struct Layer {
    std::vector<Literal> prefix;
    std::optional<Literal> rest;
  };
  struct Contains {
    Literal what;
    Counts matches;
  };
  std::vector<Layer> layers;
  Counts length;
  std::vector<Contains> contains;
  const Json* unique = nullptr;  ///< the schema that asks for it
  bool any() const { return layers.empty() && length.any() && contains.empty() && unique == nullptr; }
};

struct ObjectRules {
  /// What one schema says of members: by name, by a pattern of the name, of the others.
  struct Layer {
    std::vector<std::pair<std::string, Literal>> named;
    std::vector<std::pair<std::string, Literal>> patterns;
    std::optional<Literal> rest;
  };
  std::vector<Layer> layers;
  std::vector<std::string> required;
  std::vector<Literal> names;  ///< hold of every name
  /// There is a member of another name than these, and this holds of it.
  struct Other {
    std::vector<std::string> than;
    Literal holds;
  };
  std::vector<Other> others;
  Counts count;
  bool any() const {
    return layers.empty() && required.empty() && names.empty() && others.empty() && count.any();
  }
};

/// The core that every schema comes down to: a value has one of the types, and keeps the rules of its type;
/// beside that it is one of the values, if there are any, and none of those excluded. Of a schema's several
/// alternatives each is one such constraint.
struct Constraint {
  unsigned types = kEveryType;
  std::optional<std::vector<Json>> values;
  std::vector<Json> excluded;
  NumberRules number;
  StringRules string;
  ArrayRules array;
  ObjectRules object;
  MeteredBytes held = {};  ///< bytes(), from when it is complete

  void meet(const Constraint& other);
  /// That it holds, an estimate from above but for the texts of values.
  std::int64_t bytes() const;
};

/// As JSON Schema has it: 1 and 1.0 are one value.
bool same_value(const Json& a, const Json& b);

}  // namespace augur
