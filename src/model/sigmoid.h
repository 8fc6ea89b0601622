#pragma once
#include "base/elementary.h"

namespace augur {

/// Of a router's score, or of a gate's (docs/law.md#row-operations).
inline float sigmoid(float x) {
  return 1.0f / (1.0f + static_cast<float>(elementary::exp(-x)));
}

}  // namespace augur
