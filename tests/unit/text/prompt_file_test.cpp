#include "text/prompt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::error_of;

PromptFile read(const std::string& text, int limit = -1) {
  std::istringstream in(text);
  return read_prompt_file(in, "set.jsonl", limit);
}

TEST(PromptFile, ReadsEveryFormInUse) {
  const PromptFile file = read(R"({"id": 7, "category": "writing", "turns": ["a", "b"]}
{"question_id": 81, "category": "math", "turns": ["c"], "reference": ["r"], "choices": []}

{"question_id": "x-1", "category": "coding", "sub_category": "s", "messages": [{"role": "user", "content": "d"}], "difficulty": null}
{"question_id": "x-2", "turns": [{"role": "user", "content": "e"}, {"content": "f"}]}
{"prompt": "g"}
)");
  EXPECT_EQ(file.error, "");
  ASSERT_EQ(file.prompts.size(), 5U);
  EXPECT_EQ(file.prompts[0].id, 7);
  EXPECT_EQ(file.prompts[0].category, "writing");
  EXPECT_THAT(file.prompts[0].turns, ElementsAre("a", "b"));
  EXPECT_EQ(file.prompts[1].id, 81);
  EXPECT_THAT(file.prompts[2].turns, ElementsAre("d"));
  EXPECT_EQ(file.prompts[2].id, "x-1");
  EXPECT_THAT(file.prompts[3].turns, ElementsAre("e", "f"));
  EXPECT_EQ(file.prompts[4].id, 6) << "the line's number, where there is no id";
  EXPECT_THAT(file.prompts[4].turns, ElementsAre("g"));
}

TEST(PromptFile, LimitCountsPrompts) {
  EXPECT_EQ(read("{\"prompt\": \"a\"}\n\n{\"prompt\": \"b\"}\n{\"prompt\": \"c\"}\n", 2).prompts.size(), 2U);
  EXPECT_EQ(read("nonsense\n", 0).error, "");
}

TEST(PromptFile, ALineThatIsRefusedEndsTheReadingAndWhatCameBeforeIsKept) {
  const auto refusal = [](const std::string& line) {
    const PromptFile file = read("{\"prompt\": \"fine\"}\n" + line + "\n{\"prompt\": \"behind it\"}\n");
    EXPECT_EQ(file.prompts.size(), 1U) << line;
    EXPECT_THAT(file.error, HasSubstr("set.jsonl:2: ")) << line;
    return file.error;
  };
  EXPECT_THAT(refusal("{"), HasSubstr("JSON"));
  EXPECT_THAT(refusal(std::string(100, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal(R"({"id": 1})"), HasSubstr("expected one of"));
  EXPECT_THAT(refusal(R"({"id": 1, "prompt": 2})"), HasSubstr("expected one of"));
  EXPECT_THAT(refusal(R"({"id": 1, "turns": []})"), HasSubstr("\"turns\""));
  EXPECT_THAT(refusal(R"({"id": 1, "turns": [3]})"), HasSubstr("\"turns\""));
  EXPECT_THAT(refusal(R"({"id": 1, "turns": ["a", 3]})"), HasSubstr("\"turns\""));
  EXPECT_THAT(refusal(R"({"id": 1, "turns": [""]})"), HasSubstr("empty"));
  EXPECT_THAT(refusal(R"({"id": [1], "turns": ["a"]})"), HasSubstr("\"id\""));
  EXPECT_THAT(refusal(R"({"question_id": {}, "turns": ["a"]})"), HasSubstr("\"question_id\""));
  EXPECT_THAT(refusal(R"({"messages": [{"role": "assistant", "content": "a"}]})"), HasSubstr("assistant"));
  EXPECT_THAT(
      refusal(R"({"turns": ["FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"]})"),
      HasSubstr("have not been fetched"));
}

TEST(PromptFile, AFileThatCannotBeReadIsAnError) {
  EXPECT_THAT(error_of([] { read_prompt_file("no/such/file.jsonl"); }),
              HasSubstr("no/such/file.jsonl: cannot be read"));
  EXPECT_THAT(error_of([] { read_prompt_file("/tmp"); }), HasSubstr("/tmp: cannot be read"));
}

}  // namespace
}  // namespace augur
