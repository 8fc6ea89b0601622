#pragma once
#include <cstdlib>
#include <filesystem>

namespace augur::testing_support {

/// SmolLM2-135M-Instruct where scripts/get_model.sh puts it. It is not part of the project.
inline std::filesystem::path smollm2_path() {
  const char* cache = std::getenv("AUGUR_MODEL_CACHE");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder =
      cache != nullptr ? std::filesystem::path(cache)
                       : std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "augur" / "models";
  return folder / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace augur::testing_support

/// In SetUp(): skips the test where the model has not been fetched.
#define AUGUR_NEED_SMOLLM2()                                            \
  if (!std::filesystem::exists(augur::testing_support::smollm2_path())) \
  GTEST_SKIP() << augur::testing_support::smollm2_path() << " is not there: run scripts/get_model.sh"
