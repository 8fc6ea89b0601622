#pragma once
#include <cstdint>

namespace augur {

/// What one rendering of a chat template may cost; one beyond it is an Error.
struct TemplateLimits {
  std::int64_t steps = 5'000'000;    ///< expressions evaluated, items visited, 64 bytes looked at
  std::int64_t bytes = 128ll << 20;  ///< of texts and lists made on the way, the conversation included
};

}  // namespace augur
