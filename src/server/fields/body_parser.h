#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "server/limits.h"

namespace augur {

/// A request's body, with the keys of its objects in the order of the text, and integers of any size
/// (io/big_integers.h). Not on the I/O thread. Takes a time that grows as the
/// text does, whatever it holds. BadRequest for what is no JSON object, has a key twice, or is nested deeper
/// than the limits allow.
nlohmann::ordered_json parse_body(std::string_view body, const Limits& limits);

}  // namespace augur
