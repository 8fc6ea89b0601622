#include "text/tokenizer/to_gguf.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "files/gguf/model.h"
#include "support/error_of.h"
#include "support/test_files.h"
#include "text/tokenizer/export.h"
#include "text/tokenizer/gguf.h"

namespace augur {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;

/// A folder with a tokenizer, and what becomes of it.
class ToGgufTest : public testing::Test {
 protected:
  GgufVocabulary written() const {
    return gguf_vocabulary_of_folder(folder_.path(), *Checkpoint::open(folder_.path()).load_tokenizer());
  }
  GgufVocabulary written(const Json& tokenizer) const {
    folder_.write("tokenizer.json", tokenizer.dump());
    return written();
  }
  std::string refusal(const Json& tokenizer) const {
    return error_of([&] { written(tokenizer); });
  }

  test::TemporaryFolder folder_;
};

/// Bytes of GPT-2's alphabet, two words, one of which no merge gives, and a special token.
Json byte_level() {
  Json vocab = Json::object();
  for (char c = '!'; c <= '~'; ++c) vocab[std::string(1, c)] = vocab.size();
  for (const char* token : {"Ġ", "Ã", "©", "Ì", "ģ", "he", "Ġworld"}) vocab[token] = vocab.size();
  const Json end = {{"id", vocab.size()}, {"content", "<|end|>"}, {"special", true}};
  return {{"added_tokens", {end}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"h e"}}}}};
}

Json split(std::string_view pre) {
  const Json step = {{"type", "Split"},
                     {"pattern", {{"Regex", find_gguf_pre_tokenizer(pre)->steps.front()}}},
                     {"behavior", "Isolated"},
                     {"invert", false}};
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {step, bytes}}};
}

TEST_F(ToGgufTest, NamesHowAByteLevelTokenizerCutsAndNormalizes) {
  Json tokenizer = byte_level();
  const GgufVocabulary plain = written(tokenizer);
  EXPECT_EQ(plain.model, "gpt2");
  EXPECT_EQ(plain.pre, "gpt-2");
  EXPECT_EQ(plain.tokens.back(), "<|end|>");
  EXPECT_EQ(plain.token_types.back(), 3);
  tokenizer["pre_tokenizer"] = split("qwen2");
  EXPECT_EQ(written(tokenizer).pre, "deepseek-r1-qwen");
  tokenizer["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(written(tokenizer).pre, "qwen2");
  // gpt-oss's and Phi-4-mini's; and two that cut alike and differ in words that are tokens.
  tokenizer["normalizer"] = nullptr;
  tokenizer["pre_tokenizer"] = split("gpt-4o");
  EXPECT_EQ(written(tokenizer).pre, "gpt-4o");
  tokenizer["pre_tokenizer"] = split("llama3");
  EXPECT_EQ(written(tokenizer).pre, "dbrx");
  tokenizer["model"]["ignore_merges"] = true;
  EXPECT_EQ(written(tokenizer).pre, "llama3");
  tokenizer["model"]["ignore_merges"] = false;
  tokenizer["pre_tokenizer"] = {{"type", "Sequence"},
                                {"pretokenizers",
                                 {{{"type", "Digits"}, {"individual_digits", true}},
                                  {{"type", "ByteLevel"}, {"add_prefix_space", false}}}}};
  EXPECT_EQ(written(tokenizer).pre, "smollm");
}

TEST_F(ToGgufTest, NamesEverySequenceOfExpressionsThatHasAName) {
  for (const GgufPreTokenizerRow& row : gguf_pre_tokenizers()) {
    if (row.letters != GgufPreTokenizerRow::Letters::Bytes) continue;
    Json steps = Json::array();
    for (const std::string_view pattern : row.steps)
      steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}});
    steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
    Json tokenizer = byte_level();
    tokenizer["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
    tokenizer["model"]["ignore_merges"] = row.ignore_merges;
    if (row.nfc) tokenizer["normalizer"] = {{"type", "NFC"}};
    const auto* found = find_gguf_pre_tokenizer(written(tokenizer).pre);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(std::vector(found->steps.begin(), found->steps.end()),
              std::vector(row.steps.begin(), row.steps.end()));
    EXPECT_EQ(found->nfc, row.nfc);
    EXPECT_EQ(found->ignore_merges, row.ignore_merges);
  }
}

// An added token of a folder need not be special to end its turns.
TEST_F(ToGgufTest, EndTokensThatAreNotSpecialAreWritten) {
  Json tokenizer = byte_level();
  tokenizer["added_tokens"][0]["special"] = false;
  EXPECT_EQ(written(tokenizer).token_types.back(), 4);
  tokenizer["added_tokens"][0]["content"] = "<|tool|>";
  EXPECT_EQ(written(tokenizer).token_types.back(), 4);
}

// Against Hugging Face's ids (tests/golden/make_tokenizer_golden.py).
TEST_F(ToGgufTest, PublishedDesignsKeepTheirIds) {
  for (const auto& [name, pre] :
       {std::pair{"llama3", "llama3"}, std::pair{"qwen2", "qwen2"}, std::pair{"gpt4o", "gpt-4o"}}) {
    const std::string golden = std::string(AUGUR_SOURCE_DIR) + "/tests/golden/tokenizers/" + name;
    folder_.write("tokenizer.json", test::read_file(golden + ".tokenizer.json"));
    const GgufVocabulary vocabulary = written();
    EXPECT_EQ(vocabulary.pre, pre);
    const auto tokenizer = load_gguf_tokenizer(vocabulary);
    for (const Json& one : Json::parse(test::read_file(golden + ".cases.json"))) {
      EXPECT_EQ(tokenizer->encode(one["text"].get<std::string>()), one["ids"].get<std::vector<TokenId>>())
          << name << ": " << one["text"];
    }
  }
}

TEST_F(ToGgufTest, RefusesWhatGgufCannotSayOfAByteLevelTokenizer) {
  const auto with = [&](auto change) {
    Json tokenizer = byte_level();
    change(tokenizer);
    return refusal(tokenizer);
  };
  EXPECT_EQ(with([](Json&) {}), "no error");
  EXPECT_THAT(with([](Json& t) {
                t["normalizer"] = {{"type", "NFC"}};
              }),
              AllOf(HasSubstr("tokenizer.json"), HasSubstr("no name in GGUF")));
  EXPECT_THAT(with([](Json& t) { t["normalizer"] = {{"type", "NFKC"}}; }), HasSubstr("\"NFKC\""));
  EXPECT_THAT(with([](Json& t) { t["pre_tokenizer"]["add_prefix_space"] = true; }),
              HasSubstr("\"Hello world\" would become"));
  EXPECT_THAT(with([](Json& t) { t["model"]["ignore_merges"] = true; }), HasSubstr("world"));
  EXPECT_THAT(with([](Json& t) { t["added_tokens"][0]["rstrip"] = true; }), HasSubstr("<|end|>"));
  EXPECT_THAT(with([](Json& t) {
                t["pre_tokenizer"] = split("gpt-2");
                t["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "MergedWithNext";
              }),
              HasSubstr("no name in GGUF"));
}

std::string stories() {
  return test::read_file(std::string(AUGUR_SOURCE_DIR) + "/models/stories260k/tokenizer.model");
}

/// The same vocabulary as tokenizer.json.
Json stories_json() {
  const test::TemporaryFolder folder;
  folder.write("tokenizer.model", stories());
  GgufVocabulary vocabulary =
      gguf_vocabulary_of_folder(folder.path(), *Checkpoint::open(folder.path()).load_tokenizer());
  vocabulary.bos = 1;
  return export_tokenizer_json(vocabulary, true);
}

TEST_F(ToGgufTest, FindsWhetherASpaceIsPutInFrontOfTheText) {
  Json tokenizer = stories_json();
  EXPECT_EQ(written(tokenizer).add_space_prefix, true);
  // Others put it only where there is none yet, and not behind special tokens, which GGUF cannot say.
  tokenizer["normalizer"] = nullptr;
  tokenizer["pre_tokenizer"] = {
      {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}, {"split", false}};
  EXPECT_THAT(refusal(tokenizer), HasSubstr("GGUF"));
  tokenizer["pre_tokenizer"]["prepend_scheme"] = "never";
  tokenizer["decoder"]["decoders"].erase(3);  // Strip
  EXPECT_EQ(written(tokenizer).add_space_prefix, false);
}

TEST_F(ToGgufTest, ScoresFollowTheMergesNotTheIds) {
  // Llama 2's runs of spaces have low ids and the last merges.
  const GgufVocabulary llama = *gguf_vocabulary(
      GgufFile::open(std::string(AUGUR_SOURCE_DIR) + "/tests/data/tokenizers/llama-spm.gguf"));
  const GgufVocabulary again = written(export_tokenizer_json(llama, true));
  EXPECT_EQ(again.tokens, llama.tokens);
  EXPECT_EQ(load_gguf_tokenizer(again)->encode(" Hello"), load_gguf_tokenizer(llama)->encode(" Hello"));
}

TEST_F(ToGgufTest, TakesTheFileThatTheTokenizerIsLoadedFrom) {
  Json tokenizer = stories_json();
  tokenizer["added_tokens"].push_back(
      {{"id", 512}, {"content", "<|im_start|>"}, {"special", true}, {"normalized", false}});
  folder_.write("tokenizer.model", stories());
  const GgufVocabulary vocabulary = written(tokenizer);
  ASSERT_EQ(vocabulary.tokens.size(), 513u);
  EXPECT_EQ(vocabulary.tokens[512], "<|im_start|>");
  EXPECT_EQ(vocabulary.token_types[512], 3);
}

TEST_F(ToGgufTest, TakesWhatTheConfigurationAddsToASentencePieceModel) {
  folder_.write("tokenizer.model", stories());
  const std::string added = R"("added_tokens_decoder":{"514":{"content":"<|im_start|>","special":true}})";
  folder_.write("tokenizer_config.json", "{" + added + "}");
  const GgufVocabulary vocabulary = written();
  ASSERT_EQ(vocabulary.tokens.size(), 515u);
  EXPECT_EQ(vocabulary.tokens[513], "[PAD513]");
  EXPECT_EQ(vocabulary.tokens[514], "<|im_start|>");
  EXPECT_EQ(vocabulary.scores.size(), 515u);
  folder_.write("tokenizer_config.json", "{" + added + R"(,"legacy":false})");
  EXPECT_THAT(error_of([&] { written(); }), AllOf(HasSubstr("tokenizer.model"), HasSubstr("would become")));
}

TEST_F(ToGgufTest, AFarIdIsRefusedBeforeAnythingIsAllocatedForIt) {
  const auto small = Checkpoint::open(folder_.write("tokenizer.json", byte_level().dump())).load_tokenizer();
  Json tokenizer = byte_level();
  tokenizer["model"]["vocab"]["he"] = 16777215;
  folder_.write("tokenizer.json", tokenizer.dump());
  EXPECT_THAT(error_of([&] { gguf_vocabulary_of_folder(folder_.path(), *small); }), HasSubstr("16777215"));
}

}  // namespace
}  // namespace augur
