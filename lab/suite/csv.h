#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace augur {

/// A value as a field of a line of comma-separated values (RFC 4180): in quotes where it has to be. Texts as
/// they are, null as nothing, anything else as JSON has it.
std::string csv_field(const nlohmann::ordered_json& value);

}  // namespace augur
