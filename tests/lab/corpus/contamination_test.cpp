// Texts that repeat the prompts that a part is judged by.
#include "lab/corpus/contamination.h"

#include "corpus_files.h"
#include "lab/corpus/dataset.h"

namespace augur {
namespace {

using namespace testing_support;
using testing::HasSubstr;

class Prompts : public CorpusFiles {
 protected:
  void SetUp() override {
    contamination.add_file(write(
        "exam.jsonl", R"({"turns": ["A train leaves Aix at nine and reaches Bonn, 300 km away, at noon. )"
                      R"(How fast is it?"]})"
                      "\n"
                      R"({"turns": ["Name three rivers."]})"
                      "\n"));
  }
  Contamination contamination;
};

TEST_F(Prompts, AreFoundInOtherSpellingsAndPunctuation) {
  EXPECT_EQ(contamination.prompts(), 2);
  const auto match = contamination.find(
      "user: a train leaves AIX at nine\nand reaches Bonn (300 km away) at noon -- how fast is "
      "it\nassistant: 100");
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->prompt, "exam.jsonl:1");
  EXPECT_EQ(match->shared, match->of);
  EXPECT_EQ(match->of, 13);  // of 18 words
}

TEST_F(Prompts, AreFoundInNearNeighbours) {
  EXPECT_TRUE(contamination.find(
      "A train leaves Aix at nine and reaches Bonn, 250 km away, at noon. How fast is it?"));
  EXPECT_TRUE(contamination.find("Please: name three rivers. And three lakes."));
}

TEST_F(Prompts, AreNotFoundInTextsThatShareAPhrase) {
  EXPECT_FALSE(contamination.find("A train leaves Aix at nine every day. It is full of people who read."));
  EXPECT_FALSE(contamination.find("Name three lakes. Rivers name three."));
  EXPECT_FALSE(contamination.find(""));
}

TEST_F(Prompts, ALongOneIsFoundByThirtyOfItsWords) {
  std::string article;
  for (int i = 0; i < 400; ++i) article += "word" + std::to_string(i) + " ";
  contamination.add_file(write("articles.jsonl", R"({"text": ")" + article + "\"}\n"));
  const auto part = [&](int words) {
    std::string text = "It said: ";
    for (int i = 100; i < 100 + words; ++i) text += "word" + std::to_string(i) + " ";
    return contamination.find(text).has_value();
  };
  EXPECT_FALSE(part(28));
  EXPECT_TRUE(part(29));
}

TEST_F(Prompts, WhatRefusesThemKeepsThemOutOfADataset) {
  const auto file = write("data.jsonl", R"({"prompt_ids": [1, 2], "response_ids": [3, 4]})"
                                        "\n"
                                        R"({"prompt_ids": [5, 6], "response_ids": [7, 8]})"
                                        "\n"
                                        R"({"prompt_ids": [], "response_ids": []})"
                                        "\n");
  std::vector<std::string> asked;
  Dataset data(*tokenizer, nullptr,
               {.refuses = [&](std::span<const TokenId> tokens, const std::string& where) {
                 asked.push_back(where);
                 return !tokens.empty() && tokens[0] == 1;
               }});
  data.add_file(file);
  EXPECT_EQ(data.size(), 1);
  EXPECT_EQ(data.refused(), 1);
  EXPECT_EQ(data.left_out(), 1);
  EXPECT_EQ(data[0].tokens[0], 5);
  ASSERT_FALSE(asked.empty());
  EXPECT_THAT(asked[0], HasSubstr("data.jsonl: line 1"));
}

TEST_F(Prompts, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(error_of([&] { contamination.add_file(folder.path() / "none.jsonl"); }),
              HasSubstr("none.jsonl"));
}

}  // namespace
}  // namespace augur
