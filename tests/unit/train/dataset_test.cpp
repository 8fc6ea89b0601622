#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "corpus/prompt_source.h"
#include "support/error_of.h"
#include "support/stories.h"
#include "train/answer_cache.h"
#include "train_fixture.h"

namespace augur {
namespace {

using namespace testing_support;

class DatasetFiles : public testing::Test {
 protected:
  std::filesystem::path write(const char* name, const std::string& text) const {
    std::ofstream(folder.path() / name, std::ios::binary) << text;
    return folder.path() / name;
  }
  std::string error_of_reading(const std::string& text, const char* name = "data.jsonl") {
    Dataset data(tokenizer, nullptr, {});
    return error_of([&] { data.add_file(write(name, text)); });
  }

  TemporaryFolder folder;
  NoTokenizer tokenizer;
};

constexpr const char* kGood = R"({"prompt_ids": [1, 2], "response_ids": [3, 4]})"
                              "\n";

TEST_F(DatasetFiles, ErrorsNameFileAndLine) {
  const std::string where = "data.jsonl: line 3: ";
  const std::string before = std::string(kGood) + "\n";  // an empty line counts
  struct Case {
    const char* line;
    const char* problem;
  };
  for (const Case& c :
       {Case{"{\"prompt_ids\": [1", ""}, Case{"[1]", "expected a JSON object"},
        Case{"{}", "expected one of the keys text, messages"},
        Case{R"({"prompt_ids": [1], "response_ids": [192]})", "192 is not a token id below 192"},
        Case{R"({"prompt_ids": [1], "response_ids": 7})", "expected a list of token ids"},
        Case{R"({"messages": []})", "no chat template"}}) {
    const std::string error = error_of_reading(before + c.line + "\n");
    EXPECT_NE(error.find(where), std::string::npos) << error;
    EXPECT_NE(error.find(c.problem), std::string::npos) << error;
  }
  EXPECT_NE(error_of_reading("not xz", "data.jsonl.xz").find("data.jsonl.xz: line 1: damaged"),
            std::string::npos);
  Dataset data(tokenizer, nullptr, {});
  EXPECT_NE(error_of([&] { data.add_file(folder.path() / "none.jsonl"); }).find("none.jsonl"),
            std::string::npos);
}

TEST_F(DatasetFiles, LearnsAnswersOnly) {
  Dataset data(tokenizer, nullptr, {.max_length = 5});
  data.add_file(write("data.jsonl", R"({"prompt_ids": [1, 2, 3], "response_ids": [4, 5, 6, 7]})"));
  ASSERT_EQ(data.size(), 1);
  EXPECT_THAT(data[0].tokens, testing::ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(data[0].learn, testing::ElementsAre(0, 0, 0, 1, 1));
}

TEST_F(DatasetFiles, ChatRecordsTeachTheAssistantsWords) {
  const Stories stories;
  const ChatTemplate chat(
      "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% endif %}");
  Dataset data(*stories.tokenizer, &chat, {});
  data.add_file(write("chat.jsonl", R"({"messages": [{"role": "user", "content": "Tell a story."},)"
                                    R"({"role": "assistant", "content": "Once upon a time."}]})"));
  ASSERT_EQ(data.size(), 1);
  std::vector<TokenId> learnt, read;
  for (std::size_t i = 0; i < data[0].tokens.size(); ++i)
    (data[0].learn[i] != 0 ? learnt : read).push_back(data[0].tokens[i]);
  EXPECT_EQ(stories.tokenizer->decode(learnt), "Once upon a time.");
  EXPECT_EQ(stories.tokenizer->decode(read), "[user]Tell a story.[assistant]");
}

TEST(ShuffledOrder, IsAPermutationOfEveryEpoch) {
  ShuffledOrder order(50, 3);
  std::vector<std::int64_t> first, second;
  for (int i = 0; i < 50; ++i) first.push_back(order.at(i));
  for (int i = 50; i < 100; ++i) second.push_back(order.at(i));
  EXPECT_NE(first, second);
  ShuffledOrder again(50, 3);
  EXPECT_EQ(again.at(70), second[20]);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.front(), 0);
  EXPECT_EQ(first.back(), 49);
}

TEST_F(DatasetFiles, AnswersGoOnAfterAKill) {
  const std::filesystem::path file = folder.path() / "answers.jsonl";
  const Answer answer{"a.jsonl:1", "a", 0.5, {1, 2}, {3, 4, 5}};
  {
    AnswerCache cache(file, "settings");
    cache.add(answer);
    cache.flush();
  }
  std::ofstream(file, std::ios::app) << R"({"source": "a.jsonl:2", "resp)";  // was being written
  {
    AnswerCache cache(file, "settings");
    EXPECT_TRUE(cache.has("a.jsonl:1"));
    EXPECT_FALSE(cache.has("a.jsonl:2"));
    EXPECT_EQ(cache.response_tokens(), 3);
    cache.add({"a.jsonl:2", "a", 0, {1}, {2}});
  }
  EXPECT_EQ(AnswerCache(file, "settings").size(), 2);
  Dataset data(tokenizer, nullptr, {});
  data.add_file(file);
  ASSERT_EQ(data.size(), 1);  // the second is too short to learn from
  EXPECT_THAT(data[0].tokens, testing::ElementsAre(1, 2, 3, 4, 5));

  const std::string other = error_of([&] { AnswerCache(file, "other settings"); });
  EXPECT_NE(other.find("answers.jsonl.settings"), std::string::npos) << other;
  std::ofstream(file, std::ios::app) << "no answer\n";
  const std::string error = error_of([&] { AnswerCache(file, "settings"); });
  EXPECT_NE(error.find("answers.jsonl: line 3: "), std::string::npos) << error;
}

TEST_F(DatasetFiles, PromptsOfEveryForm) {
  const auto file =
      write("mixed.jsonl",
            R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]})"
            "\n"
            R"({"turns": ["One", "Two"]})"
            "\n"
            R"({"text": "some words that go on"})"
            "\n");
  std::vector<TrainingPrompt> prompts;
  read_training_prompts(file, 12, [&](TrainingPrompt prompt) {
    prompts.push_back(std::move(prompt));
    return true;
  });
  ASSERT_EQ(prompts.size(), 3u);
  ASSERT_EQ(prompts[0].messages.size(), 1u);
  EXPECT_EQ(prompts[0].messages[0].content, "Hi");
  EXPECT_EQ(prompts[0].source, "mixed.jsonl:1");
  EXPECT_EQ(prompts[0].domain, "mixed");
  EXPECT_EQ(prompts[1].messages[0].content, "One");
  EXPECT_EQ(prompts[2].text, "some words");
  const auto bad = write("bad.jsonl", "{}\n");
  const std::string error =
      error_of([&] { read_training_prompts(bad, 12, [](TrainingPrompt) { return true; }); });
  EXPECT_NE(error.find("bad.jsonl: line 1: expected one of"), std::string::npos) << error;
}

}  // namespace
}  // namespace augur
