#include "lab/suite/prompt_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lab/suite/bundled.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::error_of;

PromptSet read(const std::string& text, int limit = -1) {
  std::istringstream in(text);
  return read_prompt_set(in, "set.jsonl", limit);
}

TEST(PromptSet, ReadsEveryFormInUse) {
  const PromptSet set = read(R"({"id": 7, "category": "writing", "turns": ["a", "b"]}
{"question_id": 81, "category": "math", "turns": ["c"], "reference": ["r"], "choices": []}

{"question_id": "x-1", "category": "coding", "sub_category": "s", "messages": [{"role": "user", "content": "d"}], "difficulty": null}
{"question_id": "x-2", "turns": [{"role": "user", "content": "e"}, {"content": "f"}]}
{"prompt": "g"}
)");
  EXPECT_EQ(set.name, "set");
  ASSERT_EQ(set.prompts.size(), 5U);
  EXPECT_EQ(set.prompts[0].id, "7");
  EXPECT_EQ(set.prompts[0].category, "writing");
  EXPECT_THAT(set.prompts[0].turns, ElementsAre("a", "b"));
  EXPECT_EQ(set.prompts[1].id, "81");
  EXPECT_THAT(set.prompts[2].turns, ElementsAre("d"));
  EXPECT_EQ(set.prompts[2].id, "x-1");
  EXPECT_THAT(set.prompts[3].turns, ElementsAre("e", "f"));
  EXPECT_EQ(set.prompts[4].id, "6") << "the line's number, where there is no id";
  EXPECT_THAT(set.prompts[4].turns, ElementsAre("g"));
}

TEST(PromptSet, LimitCountsPrompts) {
  EXPECT_EQ(read("{\"prompt\": \"a\"}\n\n{\"prompt\": \"b\"}\n{\"prompt\": \"c\"}\n", 2).prompts.size(), 2U);
}

TEST(PromptSet, RefusesWhatItCannotAsk) {
  const auto refusal = [](const std::string& line) {
    return error_of([&] { read("{\"prompt\": \"fine\"}\n" + line + "\n"); });
  };
  EXPECT_THAT(refusal("{"), HasSubstr("set.jsonl:2"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal(R"({"id": 1})"), HasSubstr("what to ask"));
  EXPECT_THAT(refusal(R"({"id": 1, "turns": []})"), HasSubstr("turns"));
  EXPECT_THAT(refusal(R"({"id": 1, "turns": [3]})"), HasSubstr("turns"));
  EXPECT_THAT(refusal(R"({"id": 1, "turns": [""]})"), HasSubstr("empty"));
  EXPECT_THAT(refusal(R"({"id": 1.5, "turns": ["a"]})"), HasSubstr("id"));
  EXPECT_THAT(refusal(R"({"messages": [{"role": "assistant", "content": "a"}]})"), HasSubstr("assistant"));
  EXPECT_THAT(
      refusal(R"({"turns": ["FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"]})"),
      HasSubstr("have not been fetched"));
  EXPECT_THAT(error_of([] { read("{\"id\": 1, \"prompt\": \"a\"}\n{\"id\": 1, \"prompt\": \"b\"}\n"); }),
              HasSubstr("a second prompt with id 1"));
  EXPECT_THAT(error_of([] { read("\n"); }), HasSubstr("no prompts"));
  EXPECT_THAT(error_of([] { read_prompt_set("no/such/file.jsonl"); }), HasSubstr("cannot be read"));
}

TEST(PromptSet, TheBundledSuiteHasTwoPromptsOfEachKind) {
  const PromptSet set = bundled_prompts();
  EXPECT_EQ(set.name, "quick");
  ASSERT_EQ(set.prompts.size(), 12U);
  for (std::size_t i = 0; i < set.prompts.size(); i += 2) {
    EXPECT_EQ(set.prompts[i].category, set.prompts[i + 1].category);
  }
}

}  // namespace
}  // namespace augur
