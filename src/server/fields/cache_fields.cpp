#include "server/fields/cache_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/fields/json_fields.h"

namespace augur {

std::string read_cache_salt(const std::string& field, const nlohmann::ordered_json& value) {
  constexpr std::size_t kMost = 512;
  std::string salt = read_string(field, value);
  if (salt.empty() || salt.size() > kMost) unexpected(field, fmt::format("a string of 1 to {} bytes", kMost));
  return salt;
}

}  // namespace augur
