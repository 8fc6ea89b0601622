#include "lab/suite/prompt_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::error_of;

class PromptSetTest : public testing::Test {
 protected:
  PromptSet read(const std::string& text, int limit = -1) const {
    const std::filesystem::path file = folder_.path() / "set.jsonl";
    std::ofstream(file, std::ios::trunc) << text;
    return read_prompt_set(file, limit);
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(PromptSetTest, IsNamedAfterItsFileAndItsIdsAreTexts) {
  const PromptSet set = read(R"({"id": 7, "category": "x", "turns": ["a", "b"]}
{"id": "seven", "prompt": "c"}
{"prompt": "d"}
)");
  EXPECT_EQ(set.name, "set");
  ASSERT_EQ(set.prompts.size(), 3U);
  EXPECT_EQ(set.prompts[0].id, "7");
  EXPECT_EQ(set.prompts[0].category, "x");
  EXPECT_THAT(set.prompts[0].turns, ElementsAre("a", "b"));
  EXPECT_EQ(set.prompts[1].id, "seven");
  EXPECT_EQ(set.prompts[2].id, "3");
  EXPECT_EQ(read("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n", 1).prompts.size(), 1U);
}

TEST_F(PromptSetTest, RefusesWhatTheReaderRefusesAndWhatNoSuiteMayHold) {
  EXPECT_THAT(error_of([&] { read("{\"prompt\": \"a\"}\n{}\n"); }), HasSubstr("set.jsonl:2"));
  EXPECT_THAT(error_of([&] { read("{\"id\": 1, \"prompt\": \"a\"}\n{\"id\": 1, \"prompt\": \"b\"}\n"); }),
              HasSubstr("a second prompt with id 1"));
  EXPECT_THAT(error_of([&] { read("\n"); }), HasSubstr("no prompts"));
}

TEST(BundledPrompts, AreTwoOfEachKindAndFewAreOfManyKinds) {
  const PromptSet set = bundled_prompts();
  EXPECT_EQ(set.name, "quick");
  ASSERT_EQ(set.prompts.size(), 12U);
  for (std::size_t i = 0; i < set.prompts.size(); i += 2) {
    EXPECT_EQ(set.prompts[i].category, set.prompts[i + 1].category);
  }
  const PromptSet few = bundled_prompts(7);
  ASSERT_EQ(few.prompts.size(), 7U);
  EXPECT_EQ(few.prompts[1].id, set.prompts[2].id);
  EXPECT_EQ(few.prompts[6].id, set.prompts[1].id);
}

TEST(ByCategory, SplitsOnlyWhereThereAreSeveral) {
  const auto split = by_category({"s", {{"a", "x", {"t"}}, {"b", "", {"t"}}, {"c", "x", {"t"}}}});
  ASSERT_EQ(split.size(), 2U);
  EXPECT_EQ(split[0].first, "x");
  EXPECT_EQ(split[0].second.name, "s") << "cells are filed under the suite";
  EXPECT_EQ(split[0].second.prompts.back().id, "c");
  EXPECT_EQ(split[1].first, "(none)");
  EXPECT_TRUE(by_category({"s", {{"a", "x", {"t"}}, {"b", "x", {"t"}}}}).empty());
}

}  // namespace
}  // namespace augur
