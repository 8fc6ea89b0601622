#pragma once
#include <cstdint>

namespace augur {

/// Values of tokenizer.ggml.token_type.
enum GgufTokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

}  // namespace augur
