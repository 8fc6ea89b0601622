#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/error.h"
#include "text/tokenizer/from_memory.h"
#include "unit/text/tokenizer_files.h"

namespace augur {
namespace {

using namespace testing_tokenizers;
using testing::ElementsAre;

std::string random_bytes(std::mt19937& rng, std::size_t length) {
  std::string out(length, '\0');
  for (char& c : out) c = static_cast<char>(rng() & 0xFF);
  return out;
}

// Words, spaces, digits, marks of several scripts, and now and then a stray byte.
std::string random_text(std::mt19937& rng, std::size_t pieces) {
  static const std::vector<std::string> kPieces = {"the",
                                                   " quick",
                                                   " ",
                                                   "  ",
                                                   "\n",
                                                   "\r\n",
                                                   "\t",
                                                   "'s",
                                                   "'LL",
                                                   "3",
                                                   "1415",
                                                   ".",
                                                   "!?",
                                                   "\xC3\xA9",
                                                   "e\xCC\x81",
                                                   "\xE4\xB8\xAD",
                                                   "\xF0\x9F\xA6\x99",
                                                   "\xE2\x80\x8B",
                                                   "\xC2\xA0",
                                                   "\xD0\x9F\xD1\x80",
                                                   "_x",
                                                   "\xFF",
                                                   "\xE2\x96",
                                                   "\xE2\x96\x81",
                                                   "A",
                                                   "Bc"};
  std::string out;
  for (std::size_t i = 0; i < pieces; ++i) out += kPieces[rng() % kPieces.size()];
  return out;
}

TEST(Tokenizer, ByteLevelDecodingUndoesEncodingOfAnyBytes) {
  const auto tokenizer = load(data("gpt-2.tokenizer.json"));
  std::mt19937 rng(1);
  for (int i = 0; i < 300; ++i) {
    const std::string text = i % 2 == 0 ? random_bytes(rng, rng() % 200) : random_text(rng, rng() % 100);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text), true), text);
  }
}

TEST(Tokenizer, ByteFallbackDecodingUndoesEncodingOfAnyBytes) {
  for (const char* file : {"llama-spm.gguf", "llama-spm.tokenizer.model"}) {
    const auto tokenizer = load(data(file));
    std::mt19937 rng(2);
    for (int i = 0; i < 200; ++i) {
      std::string text = i % 2 == 0 ? random_bytes(rng, rng() % 200) : random_text(rng, rng() % 100);
      // U+2581 is a space to these vocabularies.
      for (std::size_t at; (at = text.find("\xE2\x96\x81")) != std::string::npos;) text.replace(at, 3, "");
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text), true), text) << testing::PrintToString(text);
    }
  }
}

TEST(Tokenizer, FormatsOfOneVocabularyAgree) {
  const std::vector<std::vector<std::string>> groups = {{"gpt-2.gguf", "gpt-2.tokenizer.json"},
                                                        {"llama-spm.gguf", "llama-spm.tokenizer.model"}};
  for (const auto& group : groups) {
    const auto a = load(data(group[0]));
    const auto b = load(data(group[1]));
    ASSERT_EQ(a->vocab_size(), b->vocab_size());
    for (TokenId id = 0; id < a->vocab_size(); ++id) {
      ASSERT_EQ(a->token_bytes(id), b->token_bytes(id)) << id;
      ASSERT_EQ(a->is_special(id), b->is_special(id)) << id;
    }
    std::mt19937 rng(3);
    for (int i = 0; i < 200; ++i) {
      const std::string text = random_text(rng, rng() % 200);
      EXPECT_EQ(a->encode(text), b->encode(text)) << testing::PrintToString(text);
    }
  }
}

TEST(Tokenizer, SpecialTokensAreRecognisedInTheText) {
  const auto tokenizer = smollm2();
  const auto ids = tokenizer->encode("<|im_start|>user\nHi<|im_end|>\n");
  ASSERT_GE(ids.size(), 6u);
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(ids[ids.size() - 2], 2);
  EXPECT_EQ(tokenizer->decode(ids), "user\nHi\n");
  EXPECT_EQ(tokenizer->decode(ids, true), "<|im_start|>user\nHi<|im_end|>\n");
  EXPECT_TRUE(tokenizer->is_special(2));
  EXPECT_FALSE(tokenizer->is_special(ids[1]));
  EXPECT_EQ(tokenizer->vocab_size(), 49152);
  EXPECT_THAT(tokenizer->eos, ElementsAre(2));
  EXPECT_FALSE(tokenizer->add_bos);
}

TEST(Tokenizer, BosAndEosOfGgufAndSentencePiece) {
  for (const char* file : {"llama-spm.gguf", "llama-spm.tokenizer.model"}) {
    const auto tokenizer = load(data(file));
    EXPECT_EQ(tokenizer->bos, 1);
    EXPECT_THAT(tokenizer->eos, ElementsAre(2));
    EXPECT_TRUE(tokenizer->add_bos);
    EXPECT_THAT(tokenizer->encode("<s></s><s>"), ElementsAre(1, 2, 1));
  }
  EXPECT_FALSE(load(data("gpt-2.gguf"))->add_bos);
  EXPECT_THAT(load(data("gpt-2.gguf"))->eos, ElementsAre(50256));
  const auto told = load(data("llama-spm.tokenizer.model"), {{"add_bos_token", false}, {"eos_token", "<s>"}});
  EXPECT_FALSE(told->add_bos);
  EXPECT_THAT(told->eos, ElementsAre(1));
}

TEST(Tokenizer, SentencePiecePrefixBehindSpecialTokensIsTheLegacyBehaviour) {
  const auto legacy = load(data("llama-spm.tokenizer.model"));
  const auto modern = load(data("llama-spm.tokenizer.model"), {{"legacy", false}});
  EXPECT_THAT(legacy->encode("Hello<s>Hello"), ElementsAre(15043, 1, 15043));  // "_Hello" both
  EXPECT_THAT(modern->encode("Hello<s>Hello"), ElementsAre(15043, 1, 10994));  // then "Hello"
  EXPECT_THAT(load(data("llama-spm.tokenizer.model"), {{"add_prefix_space", false}})->encode("Hello"),
              ElementsAre(10994));
}

TEST(Tokenizer, TokensOfTheConfigurationAreAdded) {
  const nlohmann::json config = {
      {"added_tokens_decoder",
       {{"1", {{"content", "<s>"}, {"special", true}}},
        {"32000", {{"content", "<|im_end|>"}, {"special", true}, {"lstrip", true}}},
        {"32001", {{"content", "<tool>"}, {"special", false}}}}},
      {"eos_token", {{"content", "<|im_end|>"}}}};
  const auto tokenizer = load(data("llama-spm.tokenizer.model"), config);
  EXPECT_EQ(tokenizer->vocab_size(), 32002);
  EXPECT_THAT(tokenizer->encode("Hello \n<|im_end|><tool>"), ElementsAre(15043, 32000, 32001));
  EXPECT_THAT(tokenizer->eos, ElementsAre(32000));
  EXPECT_EQ(tokenizer->decode({15043, 32000, 32001}), "Hello<tool>");
}

TEST(Tokenizer, OneTokenizerServesManyThreads) {
  const auto tokenizer = smollm2();
  std::mt19937 rng(4);
  const std::string text = random_text(rng, 2000);
  const auto expected = tokenizer->encode(text);
  std::vector<std::vector<TokenId>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& out : found) threads.emplace_back([&] { out = tokenizer->encode(text); });
  }
  for (const auto& out : found) EXPECT_EQ(out, expected);
}

TEST(Tokenizer, LongTextsTakeTimeInProportion) {
  // Quadratic anything would take minutes here.
  std::string words;
  while (words.size() < 1'000'000)
    words += "It's the 3rd of many sentences, naturally; \xC3\xA9t\xC3\xA9 too.\n";
  for (const char* file : {"gpt-2.tokenizer.json", "llama-spm.gguf", "llama-spm.tokenizer.model"}) {
    const auto tokenizer = load(data(file));
    for (const std::string& text : {words, std::string(300'000, ' '), std::string(300'000, 'a')}) {
      const auto ids = tokenizer->encode(text);
      EXPECT_EQ(tokenizer->decode(ids), text);
    }
  }
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreErrors) {
  const auto tokenizer = load(data("gpt-2.gguf"));
  EXPECT_THROW(tokenizer->token_bytes(-1), Error);
  EXPECT_THROW(tokenizer->token_bytes(50257), Error);
  EXPECT_THROW(tokenizer->is_special(50257), Error);
  EXPECT_THROW(tokenizer->decode({0, 60000}), Error);
}

TEST(Tokenizer, GapsInTheVocabularyStandForNothing) {
  const auto tokenizer = tokenizer_from_json(
      {{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 3}}}, {"merges", nlohmann::json::array()}}}},
      "tokenizer.json", {});
  ASSERT_EQ(tokenizer->vocab_size(), 4);
  EXPECT_EQ(tokenizer->token_bytes(1), "");
  EXPECT_FALSE(tokenizer->is_special(2));
  EXPECT_EQ(tokenizer->decode({0, 1, 3, 2}), "ab");
}

}  // namespace
}  // namespace augur
