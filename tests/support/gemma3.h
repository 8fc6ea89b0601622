#pragma once
#include "support/model_cache.h"

namespace augur::testing_support {

/// Gemma 3 270M, a base model of 262,144 tokens.
inline std::filesystem::path gemma3_path() {
  return cached_model("gemma-3-270m-q4_k_m.gguf");
}

}  // namespace augur::testing_support

#define AUGUR_NEED_GEMMA3() AUGUR_NEED_MODEL(augur::testing_support::gemma3_path(), "gemma-3-270m")
