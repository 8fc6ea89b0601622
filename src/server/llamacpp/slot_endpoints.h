#pragma once
#include <nlohmann/json_fwd.hpp>

namespace augur {

/// Of the body of POST /slots/{id}, for OpenAPI.
nlohmann::ordered_json slot_schema();

}  // namespace augur
