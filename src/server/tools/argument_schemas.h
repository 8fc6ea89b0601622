#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/tools/offered_tools.h"

namespace augur {

/// What a tool's schema says of one argument.
struct ArgumentSchema {
  std::string name;
  nlohmann::ordered_json schema;  ///< as it stands there: it may be a reference
  bool required = false;
};

/// The arguments of a function, for models that write each by itself.
struct ArgumentSchemas {
  nlohmann::ordered_json root;  ///< what references lead into
  std::vector<ArgumentSchema> list;

  /// `schema` with the definitions that it may refer to.
  nlohmann::ordered_json with_definitions(nlohmann::ordered_json schema) const;
};

/// In the order of the schema. BadRequest naming the tool's field for a schema that says of the object more
/// than what its members are and which have to be there.
ArgumentSchemas argument_schemas(const Tool& tool);

/// Whether a keyword says nothing of a value: titles, descriptions and the like.
bool is_note(std::string_view keyword);

}  // namespace augur
