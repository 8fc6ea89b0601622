#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

/// Of `cache_salt`: 1 to 512 bytes. BadRequest for anything else.
std::string read_cache_salt(const std::string& field, const nlohmann::ordered_json& value);

}  // namespace augur
