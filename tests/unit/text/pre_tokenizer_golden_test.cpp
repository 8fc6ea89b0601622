// 300 texts against Hugging Face's `tokenizers` (tests/golden/make_pre_tokenizer_golden.py): of every name of
// tokenizer.ggml.pre, of a tokenizer.json that cuts alike, and of whole tokenizers of the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/fnv1a.h"
#include "support/error_of.h"
#include "text/tokenizer/export.h"
#include "text/tokenizer/from_memory.h"
#include "text/tokenizer/gguf.h"
#include "unit/text/tokenizer_files.h"

namespace augur {
namespace {

using namespace testing_tokenizers;
using nlohmann::json;
using testing_support::error_of;

constexpr std::size_t kTexts = 300;
constexpr std::size_t kDigits = 4;  // of a hash

const json& golden() {
  static const json content =
      json::parse(read_text(std::string(AUGUR_SOURCE_DIR) + "/tests/golden/tokenizers/pre_tokenizers.json"));
  return content;
}

std::string hash_of(const std::vector<TokenId>& ids) {
  Fnv1a hash;
  for (const TokenId id : ids) hash.add_little_endian(static_cast<std::uint32_t>(id), 4);
  return fmt::format("{:04x}", hash.value() & 0xffff);
}

void expect_the_ids(const Tokenizer& tokenizer, const std::string& hashes, const std::string& how) {
  const json& texts = golden()["texts"];
  ASSERT_EQ(texts.size(), kTexts);
  ASSERT_EQ(hashes.size(), kTexts * kDigits);
  for (std::size_t i = 0; i < kTexts; ++i) {
    const auto text = texts[i].get<std::string>();
    const std::vector<TokenId> ids = tokenizer.encode(text);
    EXPECT_EQ(hash_of(ids), hashes.substr(i * kDigits, kDigits))
        << how << ", text " << i << ": " << texts[i] << " became " << testing::PrintToString(ids);
  }
}

std::vector<std::string> tokens_of(const json& vocabulary) {
  auto tokens = vocabulary["base"].get<std::vector<std::string>>();
  std::set<std::string> known(tokens.begin(), tokens.end());
  const auto add = [&](std::string token) {
    if (known.insert(token).second) tokens.push_back(std::move(token));
  };
  for (std::string merge : vocabulary["merges"]) {
    merge.erase(merge.find(' '), 1);
    add(std::move(merge));
  }
  for (const std::string word : vocabulary["more"]) add(word);
  return tokens;
}

GgufVocabulary gguf(const json& design, const std::string& name) {
  const bool characters = design.value("characters", false);
  const json& vocabulary = golden()[characters ? "characters" : "bytes"];
  GgufVocabulary out;
  out.file = "golden";
  out.model = name == "gemma4" ? "gemma4" : "gpt2";
  out.pre = name;
  out.tokens = tokens_of(vocabulary);
  out.merges = vocabulary["merges"].get<std::vector<std::string>>();
  for (const std::string& token : out.tokens) {
    const bool byte = characters && token.size() == 6 && token.starts_with("<0x");
    out.token_types.push_back(byte ? 6 : token == "<unk>" ? 2 : 1);
  }
  if (characters) out.unk = 0;
  return out;
}

class PreTokenizers : public testing::TestWithParam<std::size_t> {
 protected:
  const json& design() const { return golden()["designs"][GetParam()]; }
};

TEST_P(PreTokenizers, GiveTheIdsOfTheTokenizersPackage) {
  const bool characters = design().value("characters", false);
  const GgufVocabulary vocabulary = gguf(design(), "");
  json vocab = json::object();
  for (const std::string& token : vocabulary.tokens) vocab[token] = vocab.size();
  json content = {{"normalizer", design().value("normalizer", json())},
                  {"pre_tokenizer", design()["pre_tokenizer"]},
                  {"model",
                   {{"type", "BPE"},
                    {"byte_fallback", characters},
                    {"ignore_merges", design().value("ignore_merges", false)},
                    {"vocab", vocab},
                    {"merges", vocabulary.merges}}}};
  if (characters) content["model"]["unk_token"] = "<unk>";
  const std::string hashes = design()["hashes"];
  expect_the_ids(*tokenizer_from_json(content, "tokenizer.json", {}), hashes, "tokenizer.json");
  for (const std::string name : design()["names"]) {
    expect_the_ids(*load_gguf_tokenizer(gguf(design(), name)), hashes, name);
  }
}

// What convert makes of such a file.
TEST_P(PreTokenizers, ComeThroughTokenizerJson) {
  for (const std::string name : design()["names"]) {
    const json exported = export_tokenizer_json(gguf(design(), name), false);
    expect_the_ids(*tokenizer_from_json(exported, "tokenizer.json", {}), design()["hashes"], name);
  }
}

// Published expressions as they are, and as the table of names has them.
TEST_P(PreTokenizers, NeverExceedTheBudgetOfALongText) {
  std::vector<std::unique_ptr<PreTokenizer>> cutters;
  cutters.push_back(PreTokenizer::from_json(design()["pre_tokenizer"], "tokenizer.json"));
  if (const json& names = design()["names"]; !names.empty())
    cutters.push_back(make_pre_tokenizer(*find_gguf_pre_tokenizer(names[0].get<std::string>()), "table"));
  for (const std::string unit :
       {" ", "\n", "\n  ", "  \n\n", "A", " A", "a ", "\xE4\xB8\xAD", "Aa", "1", ".", "\xCC\x81", "'", "'s",
        "\r\n\t", "e\xCC\x81", "\xF0\x9F\xA6\x99", "\xE0\xA5\xA7", "It's 3.14, {x: [1]};\n"}) {
    std::string text;
    while (text.size() < 40'000) text += unit;
    for (const char* end : {"", "x", "1\n"}) {
      for (const auto& cutter : cutters) {
        PieceList list;
        const std::string whole = text + end;
        list.pieces.push_back(whole);
        EXPECT_EQ(error_of([&] { cutter->apply(list); }), "no error") << testing::PrintToString(unit) << end;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Designs, PreTokenizers, testing::Range<std::size_t>(0, golden()["designs"].size()),
                         [](const auto& test) {
                           const json& names = golden()["designs"][test.param]["names"];
                           std::string name = names.empty() ? "json" + std::to_string(test.param)
                                                            : names[0].get<std::string>();
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(PreTokenizerTable, EveryNameHasItsIds) {
  std::set<std::string> tested;
  for (const json& design : golden()["designs"])
    for (const std::string name : design["names"]) EXPECT_TRUE(tested.insert(name).second) << name;
  std::size_t known = 0;
  for (const GgufPreTokenizerRow& row : gguf_pre_tokenizers()) {
    std::istringstream names{std::string(row.names)};
    for (std::string name; names >> name; ++known) {
      EXPECT_TRUE(tested.contains(name)) << name;
      EXPECT_EQ(find_gguf_pre_tokenizer(name), &row) << name;
    }
  }
  EXPECT_EQ(known, tested.size());
}

TEST(WholeTokenizers, GiveTheIdsOfTheTokenizersPackage) {
  for (const auto& [file, hashes] : golden()["files"].items())
    expect_the_ids(*load(std::string(AUGUR_SOURCE_DIR) + "/" + file), hashes, file);
}

}  // namespace
}  // namespace augur
