#pragma once
#include <nlohmann/json_fwd.hpp>

#include "sampling/token_constraint.h"

namespace augur {

/// Whether a value can be written under a constraint of single bytes: with its members in any order, its
/// numbers in one of their usual forms, and no whitespace. `constraint` stands at its beginning, and does
/// again.
enum class Reach { Yes, No, TooLong };
Reach reach(TokenConstraint& constraint, TokenId end, const nlohmann::ordered_json& value);

}  // namespace augur
