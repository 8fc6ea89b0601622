// What was learned for a drafter is found in its folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "augur/engine.h"
#include "support/random_parts.h"
#include "support/stories.h"
#include "support/temporary_folder.h"
#include "support/vocabulary_parts.h"

namespace augur {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing_support::stories_path;
using testing_support::TemporaryFolder;

constexpr int kVocabulary = 512;
constexpr int kWidth = 64;

/// The tiny model's files, and parts of every kind under them.
class DrafterParts : public testing::Test {
 protected:
  DrafterParts() {
    for (const fs::directory_entry& file : fs::directory_iterator(stories_path())) {
      if (file.is_regular_file()) fs::create_symlink(file, drafter() / file.path().filename());
    }
    testing_support::write_random_parts(drafter(), kWidth);
    write_token_order(drafter() / "frspec", testing_support::some_frequencies(kVocabulary), {});
  }
  const fs::path& drafter() const { return folder_.path(); }

  EngineOptions options(const std::string& plan) {
    EngineOptions options;
    options.model = stories_path().string();
    options.draft_model = drafter().string();
    options.threads = 1;
    options.cost_cache = "none";
    options.speculation = SpeculationPlan::parse(plan);
    options.log = [this](LogLevel level, std::string_view text) {
      if (level >= LogLevel::Warning) warnings_ += text;
    };
    return options;
  }
  static std::string text_of(Engine& engine) {
    return engine.generate({.prompt = "Once upon a time", .max_tokens = 40}).text;
  }
  static std::string refusal(const EngineOptions& options) {
    try {
      Engine engine(options);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "loaded";
  }

  TemporaryFolder folder_;
  std::string warnings_;
};

TEST_F(DrafterParts, OfPoliciesAreFoundWithoutAPath) {
  Engine plain(options("none"));
  const std::string expected = text_of(plain);
  for (const char* kind : {"c2t", "hetero", "acceptance:h=0.9"}) {
    Engine engine(options(std::string("draft:policy=") + kind));
    EXPECT_EQ(text_of(engine), expected) << kind;
    EXPECT_EQ(warnings_, "") << kind;
  }
}

TEST_F(DrafterParts, AMissingOneIsSaidWhere) {
  for (const char* kind : {"c2t", "hetero", "acceptance", "frspec"}) fs::remove_all(drafter() / kind);
  for (const char* kind : {"c2t", "hetero"}) {
    EXPECT_THAT(refusal(options(std::string("draft:policy=") + kind)),
                AllOf(HasSubstr((drafter() / kind).string()), HasSubstr(std::string("augur train ") + kind),
                      HasSubstr(std::string(kind) + ":model=FOLDER")));
  }
  EXPECT_THAT(
      refusal(options("draft:vocab=pafr:64")),
      AllOf(HasSubstr("pafr"), HasSubstr((drafter() / "frspec").string()), HasSubstr("augur train frspec")));
  EngineOptions without = options("ngram:policy=c2t");
  without.draft_model.clear();
  EXPECT_THAT(refusal(without), AllOf(HasSubstr("draft model"), HasSubstr("c2t:model=FOLDER")));
  EXPECT_EQ(refusal(options("draft:policy=acceptance:h=0.9")), "loaded") << "it can do without";
  EXPECT_THAT(warnings_, HasSubstr((drafter() / "acceptance").string()));
  warnings_.clear();
  EXPECT_EQ(refusal(options("draft:policy=acceptance:h=0.9;model=none")), "loaded");
  EXPECT_EQ(warnings_, "");
}

TEST_F(DrafterParts, ADraftVocabularyIsFoundAndIsTheEngines) {
  Engine plain(options("none"));
  Engine engine(options("draft:n-max=3,vocab=frspec:128"));
  EXPECT_EQ(text_of(engine), text_of(plain));
  Request request{.prompt = "Once upon a time", .max_tokens = 10};
  const auto refusal_of = [&](const std::string& plan) -> std::string {
    request.speculation = SpeculationPlan::parse(plan);
    try {
      engine.generate(request);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "generated";
  };
  EXPECT_EQ(refusal_of("draft:topk=2"), "generated") << "a request that names none takes the engine's";
  EXPECT_EQ(refusal_of("draft:vocab=frspec:128"), "generated");
  EXPECT_EQ(refusal_of("draft:vocab=frspec:" + (drafter() / "frspec").string() + ":128"), "generated")
      << "the same one by its path";
  for (const char* other : {"frspec:64", "full", "pafr:128"}) {
    EXPECT_THAT(refusal_of(std::string("draft:vocab=") + other), HasSubstr("one engine has one")) << other;
  }
}

TEST_F(DrafterParts, TheUsualVocabularyIsAutomatic) {
  Engine plain(options("none"));
  Engine engine(options("draft:n-max=3"));
  EXPECT_EQ(text_of(engine), text_of(plain));
  Request request{.prompt = "Once upon a time", .max_tokens = 10};
  request.speculation = SpeculationPlan::parse("draft:vocab=auto");
  EXPECT_EQ(engine.generate(request).text,
            plain.generate({.prompt = "Once upon a time", .max_tokens = 10}).text);
}

}  // namespace
}  // namespace augur
