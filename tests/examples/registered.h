#pragma once
#include <gtest/gtest.h>

#include <string>

namespace augur::test {

/// Whether this program has a test of that name, "Registered/LosslessDrafters.TokensAre.../bigram".
inline bool has_test(const std::string& name) {
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  for (int s = 0; s < tests.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *tests.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      if (std::string(suite.name()) + "." + suite.GetTestInfo(t)->name() == name) return true;
    }
  }
  return false;
}

}  // namespace augur::test
