#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "augur/engine.h"

namespace augur::cli {

/// The object of `generate --json`; see docs/formats.md.
nlohmann::ordered_json to_json(const Result& result);

/// One line of JSON; what is not UTF-8 becomes U+FFFD.
std::string to_line(const nlohmann::ordered_json& object);

/// The same for people, several lines.
std::string to_statistics(const Result& result);

}  // namespace augur::cli
