#pragma once
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace augur::testing_support {

/// Where scripts/get_model.sh puts a file. Real models are not part of the project.
inline std::filesystem::path cached_model(std::string_view file) {
  const char* cache = std::getenv("AUGUR_MODEL_CACHE");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder =
      cache != nullptr ? std::filesystem::path(cache)
                       : std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "augur" / "models";
  return folder / file;
}

}  // namespace augur::testing_support

/// In SetUp(): skips the test where the model has not been fetched. `NAME`: as scripts/get_model.sh calls it.
#define AUGUR_NEED_MODEL(PATH, NAME)  \
  if (!std::filesystem::exists(PATH)) \
  GTEST_SKIP() << (PATH) << " is not there: run scripts/get_model.sh " << (NAME)
