#include "older_program.h"

#include <gtest/gtest.h>

#include <string>

namespace {

const std::string kModel = std::string(AUGUR_SOURCE_DIR) + "/models/stories260k";

TEST(OlderProgram, RunsWithStructsOfItsSizes) {
  for (const char* spec_types : {"none", "draft"}) {
    for (const double temperature : {0.0, 0.8}) {
      const char* const wrong = run_older_program(kModel.c_str(), spec_types, temperature);
      EXPECT_EQ(wrong, nullptr) << spec_types << " at " << temperature << ": "
                                << (wrong == nullptr ? "" : wrong);
    }
  }
}

}  // namespace
