// Byte-level BPE: the merges that counting by hand gives, and a file that the engine's tokenizer reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint.h"
#include "lab/corpus/text_source.h"
#include "lab/train/bpe_trainer.h"
#include "lab/train/sentencepiece_trainer.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::error_of;
using testing_support::TemporaryFolder;

using Merge = std::pair<std::string, std::string>;

TEST(BpeTrainer, MergesTheMostFrequentPairs) {
  BpeTrainer trainer;
  // Sennrich et al.'s example.
  for (int i = 0; i < 5; ++i) trainer.add("low");
  for (int i = 0; i < 2; ++i) trainer.add("lower");
  for (int i = 0; i < 6; ++i) trainer.add("newest");
  for (int i = 0; i < 3; ++i) trainer.add("widest");
  const BpeTrainer::Result result = trainer.train(5);
  EXPECT_EQ(result.words, 4u);
  // e-s and s-t occur 9 times, lo 7 and ow 7, we 8; ties go to the smaller bytes.
  EXPECT_THAT(result.merges, testing::ElementsAre(Merge{"e", "s"}, Merge{"es", "t"}, Merge{"l", "o"},
                                                  Merge{"lo", "w"}, Merge{"e", "w"}));
}

TEST(BpeTrainer, CountsOverlapsOnceAndStopsWhenNothingRepeats) {
  BpeTrainer trainer;
  trainer.add("aaaa");
  const BpeTrainer::Result result = trainer.train(100);
  EXPECT_THAT(result.merges, testing::ElementsAre(Merge{"a", "a"}));
}

TEST(BpeTrainer, DigitsStayApart) {
  BpeTrainer trainer;
  for (int i = 0; i < 9; ++i) trainer.add("1212 1212");
  EXPECT_THAT(trainer.train(10).merges, testing::IsEmpty());
}

TEST(BpeTrainer, WritesATokenizerThatReadsBack) {
  TemporaryFolder folder;
  BpeTrainer trainer;
  const std::string text = "the theory of the thesis \xE2\x80\x94 the n\xC3\xA9\xC3\xA9 42";
  for (int i = 0; i < 3; ++i) trainer.add(text);
  const BpeTrainer::Result result = trainer.train(15);
  {
    std::ofstream out(folder.path() / "tokenizer.json");
    out << BpeTrainer::tokenizer_json(result, {"<|endoftext|>", "<|im_end|>"}).dump();
  }
  const auto tokenizer = Checkpoint::open(folder.path()).load_tokenizer();
  EXPECT_EQ(tokenizer->vocab_size(), 2 + 256 + 15);
  EXPECT_TRUE(tokenizer->is_special(1));
  const std::vector<TokenId> ids = tokenizer->encode(text);
  EXPECT_LT(ids.size(), text.size());
  EXPECT_EQ(tokenizer->decode(ids), text);
  EXPECT_THAT(tokenizer->encode("<|im_end|>"), testing::ElementsAre(1));
}

TEST(SentencePieceTrainer, WritesAModelThatReadsBack) {
  TemporaryFolder folder;
  SentencePieceTrainer trainer;
  const std::string text = "the theory of the thesis, the n\xC3\xA9\xC3\xA9\nat 42";
  for (int i = 0; i < 3; ++i) trainer.add(text);
  const SentencePieceTrainer::Options options{.pieces = 320, .coverage = 0.97, .control = {"<|im_end|>"}};
  const std::string model = trainer.train(options);
  EXPECT_EQ(model, trainer.train(options));
  std::ofstream(folder.path() / "tokenizer.model", std::ios::binary) << model;
  const auto tokenizer = Checkpoint::open(folder.path()).load_tokenizer();
  EXPECT_LE(tokenizer->vocab_size(), 320);
  EXPECT_TRUE(tokenizer->is_special(3));
  const std::vector<TokenId> ids = tokenizer->encode(text);
  EXPECT_LT(ids.size(), text.size() / 2);
  EXPECT_EQ(tokenizer->decode(ids), text);
  EXPECT_THAT(tokenizer->encode(" \xE4\xBD\xA0").size(), testing::Ge(4u)) << "bytes for what was never seen";
  EXPECT_THAT(error_of([&] { trainer.train({.pieces = 260}); }), testing::HasSubstr("260 pieces"));
}

TEST(TextSource, ReadsTextsAndMessages) {
  TemporaryFolder folder;
  const auto file = folder.path() / "a.jsonl";
  const auto write = [&](const char* lines) { std::ofstream(file) << lines; };
  write(
      "{\"text\": \"one\"}\n\n{\"messages\": [{\"role\": \"user\", \"content\": \"two\"}, "
      "{\"role\": \"assistant\", \"content\": \"three\"}]}\n");
  std::vector<std::string> texts;
  const auto take = [&](std::string_view text) {
    texts.emplace_back(text);
    return texts.size() != 2;
  };
  read_texts(file, take);
  EXPECT_THAT(texts, testing::ElementsAre("one", "two")) << "stops when it is told to";
  write("{\"text\": \"one\"}\n{\"words\": 1}\n");
  texts.clear();
  EXPECT_THAT(error_of([&] { read_texts(file, take); }), testing::HasSubstr("a.jsonl: line 2: expected"));
}

}  // namespace
}  // namespace augur
