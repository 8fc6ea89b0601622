#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "augur/options.h"

namespace augur {

/// Reads a field that says what a request may notice of earlier ones, and leave for later ones:
/// `cache_prompt`, `cache_salt`. False: it is neither. BadRequest for a value that cannot be.
bool read_cache_field(const std::string& key, const nlohmann::json& value, Request& request);

/// Of `cache_salt`: 1 to 512 bytes.
std::string read_cache_salt(const std::string& key, const nlohmann::json& value);

}  // namespace augur
