#pragma once
#include "support/model_cache.h"

namespace augur::testing_support {

/// SmolLM2-135M-Instruct.
inline std::filesystem::path smollm2_path() {
  return cached_model("SmolLM2-135M-Instruct.Q4_1.gguf");
}

}  // namespace augur::testing_support

#define AUGUR_NEED_SMOLLM2() AUGUR_NEED_MODEL(augur::testing_support::smollm2_path(), "smollm2-135m")
