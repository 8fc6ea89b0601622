#include "lab/corpus/dataset.h"

#include <utility>
#include <vector>

#include "corpus_files.h"

namespace augur {
namespace {

using namespace testing_support;
using testing::HasSubstr;

class DatasetFiles : public CorpusFiles {
 protected:
  std::string error_of_reading(const std::string& text, const char* name = "data.jsonl") {
    Dataset data(*tokenizer, nullptr, {});
    return error_of([&] { data.add_file(write(name, text)); });
  }
  /// What is learnt and what is only read of the first sequence.
  std::pair<std::string, std::string> learnt_and_read(const Dataset& data) const {
    std::vector<TokenId> learnt, read;
    for (std::size_t i = 0; i < data[0].tokens.size(); ++i)
      (data[0].learn[i] != 0 ? learnt : read).push_back(data[0].tokens[i]);
    return {tokenizer->decode(learnt, true), tokenizer->decode(read, true)};
  }
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
        Case{R"({"prompt_ids": [1], "response_ids": [512]})", "512 is not a token id below 512"},
        Case{R"({"prompt_ids": [1], "response_ids": 7})", "expected a list of token ids"},
        Case{R"({"messages": []})", "no chat template"}}) {
    const std::string error = error_of_reading(before + c.line + "\n");
    EXPECT_NE(error.find(where), std::string::npos) << error;
    EXPECT_NE(error.find(c.problem), std::string::npos) << error;
  }
  EXPECT_NE(error_of_reading("not xz", "data.jsonl.xz").find("data.jsonl.xz: line 1: damaged"),
            std::string::npos);
  Dataset data(*tokenizer, nullptr, {});
  EXPECT_NE(error_of([&] { data.add_file(folder.path() / "none.jsonl"); }).find("none.jsonl"),
            std::string::npos);
}

TEST_F(DatasetFiles, LearnsAnswersOnly) {
  Dataset data(*tokenizer, nullptr, {.max_length = 5});
  data.add_file(write("data.jsonl", R"({"prompt_ids": [1, 2, 3], "response_ids": [4, 5, 6, 7]})"));
  ASSERT_EQ(data.size(), 1);
  EXPECT_THAT(data[0].tokens, testing::ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(data[0].learn, testing::ElementsAre(0, 0, 0, 1, 1));
}

constexpr const char* kTwoTurns =
    R"({"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "One day."},)"
    R"({"role": "user", "content": "More."}, {"role": "assistant", "content": "Once upon a time."}]})";

TEST_F(DatasetFiles, ConversationsAreWhatTheTargetSees) {
  const ChatTemplate chat(
      "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}"
      "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% endif %}");
  Dataset data(*tokenizer, &chat, {});
  data.add_file(write("chat.jsonl", kTwoTurns));
  ASSERT_EQ(data.size(), 1);
  // As one text, in which a turn begins like any other place: SentencePiece adds no space before it.
  EXPECT_THAT(data[0].tokens, testing::ElementsAreArray(tokenizer->encode(
                                  "<s>[user] Hi.[assistant] One day.</s>[user] More.[assistant] "
                                  "Once upon a time.</s>")));
  const auto [learnt, read] = learnt_and_read(data);
  EXPECT_EQ(learnt, "One day.</s> Once upon a time.</s>");
  EXPECT_EQ(read, "<s> [user] Hi.[assistant] [user] More.[assistant]");
}

TEST_F(DatasetFiles, TheLastTurnIsLearntWhereTemplatesChangeEarlierOnes) {
  const ChatTemplate chat(
      "{% for m in messages %}[{{ m.role }}] "
      "{% if m.role == 'user' or loop.last %}{{ m.content }}{% else %}said{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}[assistant] <think>{% endif %}");
  Dataset data(*tokenizer, &chat, {});
  data.add_file(write("chat.jsonl", kTwoTurns));
  const auto [learnt, read] = learnt_and_read(data);
  EXPECT_EQ(learnt, "Once upon a time.");
  EXPECT_EQ(read, "[user] Hi.[assistant] said[user] More.[assistant]");
}

TEST_F(DatasetFiles, WhatATemplateRefusesIsAnErrorThatNamesTheLine) {
  const ChatTemplate chat("{{ raise_exception('no such role') }}");
  Dataset data(*tokenizer, &chat, {});
  const std::string error = error_of([&] { data.add_file(write("chat.jsonl", kTwoTurns)); });
  EXPECT_THAT(error, HasSubstr("chat.jsonl: line 1: "));
  EXPECT_THAT(error, HasSubstr("no such role"));
}

TEST_F(DatasetFiles, RecordsWithNothingToLearnAreCounted) {
  const ChatTemplate chat("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}");
  const std::string unanswered = R"({"messages": [{"role": "user", "content": "Hi."}]})"
                                 "\n";
  Dataset data(*tokenizer, &chat, {});
  data.add_file(write("some.jsonl", unanswered + kTwoTurns + "\n" + unanswered));
  EXPECT_EQ(data.size(), 1);
  EXPECT_EQ(data.left_out(), 2);
  EXPECT_THAT(error_of([&] { data.add_file(write("none.jsonl", unanswered)); }),
              HasSubstr("none.jsonl: nothing to learn in any of 1 records"));
}

TEST_F(DatasetFiles, EveryPieceOfATextBeginsWithBos) {
  Dataset data(*tokenizer, nullptr, {.max_length = 6, .eos = 2});
  data.add_file(write("text.jsonl", R"({"text": "Once upon a time there was a big dog."})"));
  std::vector<TokenId> all;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(data[i].tokens.front(), tokenizer->bos);
    EXPECT_EQ(data[i].learn.front(), 0);
    EXPECT_EQ(data[i].learn[1], 1);
    EXPECT_LE(data[i].tokens.size(), 6u);
    all.insert(all.end(), data[i].tokens.begin() + 1, data[i].tokens.end());
  }
  ASSERT_GT(data.size(), 1);
  std::vector<TokenId> expected = tokenizer->encode("Once upon a time there was a big dog.");
  expected.push_back(2);
  EXPECT_EQ(all, expected);
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

}  // namespace
}  // namespace augur
