#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "augur/engine.h"
#include "engine/engine_access.h"
#include "support/stories.h"

namespace augur::testing_support {

inline EngineOptions stories_engine_options(const std::string& draft = {}) {
  EngineOptions options;
  options.model = stories_path().string();
  options.draft_model = draft;
  options.threads = 2;
  return options;
}

/// An engine on the program's device (test_device.h).
inline std::unique_ptr<Engine> test_engine(const EngineOptions& options) {
  if (!device_maker) return std::make_unique<Engine>(options);
  return std::make_unique<Engine>(EngineAccess::on_device(options, device_maker));
}

/// One engine of the stories model, with itself as the draft model, for all tests of a fixture.
class StoriesEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = test_engine(stories_engine_options(stories_path().string())); }
  static void TearDownTestSuite() { engine_.reset(); }

  inline static std::unique_ptr<Engine> engine_;
};

}  // namespace augur::testing_support
