#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace augur {

/// One name for an owner of texts (TextOwner): different pairs have different names. Empty: the common one.
inline std::string owner_name(std::string_view tenant, std::string_view salt) {
  if (tenant.empty() && salt.empty()) return {};
  return fmt::format("{}:{}{}", tenant.size(), tenant, salt);
}

}  // namespace augur
