#pragma once
#include <nlohmann/json_fwd.hpp>

namespace augur {

/// The description of every endpoint (OpenAPI 3.1), made from the table of operations, the tables of fields,
/// and openapi_schemas.json for what is in answers and nested in requests.
nlohmann::ordered_json openapi_description();

}  // namespace augur
