#include "lab/corpus/prompt_source.h"

#include "corpus_files.h"

namespace augur {
namespace {

using namespace testing_support;

using PromptFiles = CorpusFiles;

TEST_F(PromptFiles, OfEveryForm) {
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
