#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "augur/engine.h"
#include "support/stories.h"

namespace augur::testing_support {

inline EngineOptions stories_engine_options(const std::string& draft = {}) {
  EngineOptions options;
  options.model = stories_path().string();
  options.draft_model = draft;
  options.threads = 2;
  return options;
}

/// One engine of the stories model, with itself as the draft model, for all tests of a fixture.
class StoriesEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    engine_ = std::make_unique<Engine>(stories_engine_options(stories_path().string()));
  }
  static void TearDownTestSuite() { engine_.reset(); }

  inline static std::unique_ptr<Engine> engine_;
};

}  // namespace augur::testing_support
