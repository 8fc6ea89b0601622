// In a test program: with AUGUR_TEST_DEVICE=slow in its environment its models are on the slow device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "support/slow_device.h"
#include "support/stories.h"
#include "support/test_device.h"

namespace augur::testing_support {
namespace {

const bool chosen = [] {
  const char* const name = std::getenv("AUGUR_TEST_DEVICE");
  if (name == nullptr || std::string_view(name) != "slow") return false;
  device_maker = [](Backend& host) { return std::make_unique<SlowDevice>(host); };
  return true;
}();

/// What it says of the host fails it where ctest has asked for the device (augur_tests_on_device()).
TEST(SlowDevice, IsWhereTheProgramsModelsAre) {
  if (!chosen) std::cout << "its models are on the host\n";
  EXPECT_EQ(Stories().model->device().name() == "slow", chosen);
}

}  // namespace
}  // namespace augur::testing_support
