#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace augur {

/// Kinds of JSON values that an argument may be, as bits.
enum JsonKinds : unsigned {
  kJsonNull = 1,
  kJsonBoolean = 2,
  kJsonNumber = 4,
  kJsonText = 8,
  kJsonArray = 16,
  kJsonObject = 32,
  kJsonAny = 63,
};

/// What a schema lets a value be. `root` has what its references name. Whatever is not understood may be
/// anything.
unsigned kinds_of_schema(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& root);

/// `schema`, or what it refers to within `root`. Null: there is no such place.
const nlohmann::ordered_json* resolve_schema(const nlohmann::ordered_json& schema,
                                             const nlohmann::ordered_json& root);

/// What each argument of a function may be, for models that write texts without quotes. Immutable.
class ArgumentTypes {
 public:
  ArgumentTypes() = default;
  /// `schema`: of the arguments' object, as text; nothing: there is none.
  explicit ArgumentTypes(const std::optional<std::string>& schema);

  /// kJsonAny where nothing is said of it.
  unsigned kinds_of(std::string_view argument) const;

 private:
  std::map<std::string, unsigned, std::less<>> kinds_;
};

/// Of each function that may be called.
using FunctionTypes = std::map<std::string, ArgumentTypes, std::less<>>;

/// A value that a model has written without quotes, as JSON: what `kinds` allow it to be, or else a text.
/// Null and booleans may be Python's.
std::string json_of_raw(std::string_view raw, unsigned kinds);

/// Adds a part of a text to JSON, escaped, without quotes around it.
void append_json_text(std::string& to, std::string_view part);

}  // namespace augur
