#include "server/fields/cache_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/fields/json_fields.h"

namespace augur {

std::string read_cache_salt(const std::string& key, const nlohmann::json& value) {
  constexpr std::size_t kMost = 512;
  std::string salt = read_string(key, value);
  if (salt.empty() || salt.size() > kMost) unexpected(key, fmt::format("a string of 1 to {} bytes", kMost));
  return salt;
}

bool read_cache_field(const std::string& key, const nlohmann::json& value, Request& request) {
  if (key == "cache_prompt") {
    request.cache_prompt = read_boolean(key, value);
  } else if (key == "cache_salt") {
    request.cache_salt = read_cache_salt(key, value);
  } else {
    return false;
  }
  return true;
}

}  // namespace augur
