#include <gtest/gtest.h>

#include "base/utf8.h"
#include "unit/text/tokenizer_files.h"

namespace augur {
namespace {

using namespace testing_tokenizers;

// Tiny tokenizers of the published families' designs against Hugging Face's `tokenizers`
// (tests/golden/make_tokenizer_golden.py).
class HuggingFaceTokenizers : public testing::TestWithParam<const char*> {
 protected:
  static std::string golden(const std::string& suffix) {
    return std::string(AUGUR_SOURCE_DIR) + "/tests/golden/tokenizers/" + GetParam() + suffix;
  }
};

TEST_P(HuggingFaceTokenizers, GiveTheSameIdsAndText) {
  const auto tokenizer = load(golden(".tokenizer.json"));
  const auto cases = nlohmann::json::parse(read_text(golden(".cases.json")));
  ASSERT_GT(cases.size(), 80u);
  for (const auto& one : cases) {
    const std::string text = one["text"];
    const std::vector<TokenId> ids = one["ids"];
    EXPECT_EQ(tokenizer->encode(text), ids) << "text: " << testing::PrintToString(text);
    EXPECT_EQ(to_valid_utf8(tokenizer->decode(ids)), one["decoded"].get<std::string>());
    StreamDecoder stream(*tokenizer);
    std::string streamed;
    for (const TokenId id : ids) streamed += stream.push(id);
    EXPECT_EQ(streamed + stream.flush(), one["decoded"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Designs, HuggingFaceTokenizers,
                         testing::Values("llama3", "qwen2", "tekken", "gpt4o", "behaviors", "llama2",
                                         "mistral", "unknown"),
                         [](const auto& test) { return std::string(test.param); });

// SentencePiece's own library, which knows no special tokens in the text.
class SentencePieceModels : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(SentencePieceModels, GiveTheLibrarysIdsAndText) {
  const std::string root = AUGUR_SOURCE_DIR;
  const auto tokenizer = load(root + "/" + GetParam().second);
  const auto cases =
      nlohmann::json::parse(read_text(root + "/tests/golden/tokenizers/" + GetParam().first + ".cases.json"));
  ASSERT_GT(cases.size(), 80u);
  for (const auto& one : cases) {
    const std::string text = one["text"];
    const std::vector<TokenId> ids = one["ids"];
    EXPECT_EQ(tokenizer->encode(text), ids) << "text: " << testing::PrintToString(text);
    if (std::find(ids.begin(), ids.end(), 0) == ids.end()) {  // the library shows unknown tokens as U+2047
      EXPECT_EQ(to_valid_utf8(tokenizer->decode(ids)), one["decoded"].get<std::string>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, SentencePieceModels,
    testing::Values(std::pair{"llama-spm.model", "tests/data/tokenizers/llama-spm.tokenizer.model"},
                    std::pair{"stories260k.model", "models/stories260k/tokenizer.model"},
                    std::pair{"seed.model", "tests/fuzz/corpus/sentencepiece/bpe.model"}),
    [](const auto& test) { return std::string(test.param.first, 4); });

TEST(HuggingFaceTokenizers, BosComesFromThePostProcessorUnlessConfigured) {
  const std::string folder = std::string(AUGUR_SOURCE_DIR) + "/tests/golden/tokenizers/";
  const auto llama3 = load(folder + "llama3.tokenizer.json");
  ASSERT_TRUE(llama3->bos.has_value());
  EXPECT_EQ(llama3->token_bytes(*llama3->bos), "<|begin|>");
  EXPECT_TRUE(llama3->add_bos);
  EXPECT_TRUE(llama3->eos.empty());

  const nlohmann::json config = {
      {"bos_token", {{"content", "<|begin|>"}}}, {"eos_token", "<|end|>"}, {"add_bos_token", false}};
  const auto told = load(folder + "llama3.tokenizer.json", config);
  EXPECT_FALSE(told->add_bos);
  ASSERT_EQ(told->eos.size(), 1u);
  EXPECT_EQ(told->token_bytes(told->eos[0]), "<|end|>");

  const auto qwen2 =
      load(folder + "qwen2.tokenizer.json", {{"eos_token", "<|end|>"}, {"bos_token", nullptr}});
  EXPECT_FALSE(qwen2->add_bos);
  EXPECT_FALSE(qwen2->bos.has_value());
}

}  // namespace
}  // namespace augur
