#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace augur {

/// A name for the owner of texts (TextOwner) that is different for every pair. Empty for a pair of empty
/// strings: the common owner.
inline std::string owner_name(std::string_view tenant, std::string_view salt) {
  if (tenant.empty() && salt.empty()) return {};
  return fmt::format("{}:{}{}", tenant.size(), tenant, salt);
}

}  // namespace augur
