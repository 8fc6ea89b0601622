#pragma once
#include <cstdint>

namespace augur {

/// A token of the target's vocabulary. There is one id space outside vocabulary heads.
using TokenId = std::int32_t;

}  // namespace augur
