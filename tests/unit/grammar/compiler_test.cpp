#include "grammar/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

/// Every byte is a token; then a few longer ones; the last ends a text.
class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() { eos = {kEnd}; }
  static constexpr TokenId kName = 256;
  static constexpr TokenId kEnd = 259;

  std::vector<TokenId> encode(std::string_view text) const override {
    std::vector<TokenId> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  std::string token_bytes(TokenId id) const override {
    constexpr const char* kLong[] = {"\"name\"", "\": ", "<think>", "<end>"};
    return id < 256 ? std::string(1, static_cast<char>(id)) : kLong[id - 256];
  }
  bool is_special(TokenId id) const override { return id > 257; }
  std::int32_t vocab_size() const override { return 260; }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }
};

constexpr std::int64_t kVocab = 300;  // logits that no token has

class GrammarTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  }

  /// Whether a text is one of the grammar's, byte by byte, and ends.
  bool fits(const Grammar& grammar, std::string_view text) {
    const auto constraint = compiler_.compile(grammar)->begin();
    for (const char c : text) {
      const auto token = static_cast<TokenId>(static_cast<unsigned char>(c));
      std::vector<std::uint32_t> mask(mask_words(kVocab));
      constraint->fill(mask);
      const bool allowed = allows(mask, token);
      EXPECT_EQ(constraint->accept(token), allowed) << text;
      if (!allowed) return false;
    }
    return constraint->accept(ByteTokenizer::kEnd) && constraint->ended();
  }
  bool fits_schema(const std::string& schema, std::string_view text) {
    return fits({GrammarKind::JsonSchema, schema}, text);
  }

  ByteTokenizer tokenizer_;
  GrammarCompiler compiler_{tokenizer_, kVocab};
};

TEST_F(GrammarTest, EveryKindTakesItsTextsAndNoOther) {
  EXPECT_TRUE(fits({GrammarKind::Json, ""}, R"({"a": [1, {"b": null}], "c": "\"x\""})"));
  EXPECT_FALSE(fits({GrammarKind::Json, ""}, R"([1])"));
  const std::string schema =
      R"({"type":"object","properties":{"z":{"type":"integer"},"a":{"enum":["x","y"]}},"required":["z"]})";
  EXPECT_TRUE(fits_schema(schema, R"({"z": 3, "a": "y"})"));
  EXPECT_TRUE(fits_schema(schema, R"({"z":-12})"));
  EXPECT_FALSE(fits_schema(schema, R"({"a": "x"})"));
  EXPECT_FALSE(fits_schema(schema, R"({"z": 3, "other": 1})"));
  EXPECT_FALSE(fits_schema(schema, R"({"z": 3)"));
  EXPECT_TRUE(fits({GrammarKind::Regex, "[a-c]+\\d{2}"}, "abc42"));
  EXPECT_FALSE(fits({GrammarKind::Regex, "[a-c]+\\d{2}"}, "abc4"));
  for (const GrammarKind kind : {GrammarKind::Gbnf, GrammarKind::Ebnf}) {
    const Grammar grammar{
        kind, "root ::= item (\",\" item){1,2}\nitem ::= \"x\" | \"\\\"\" [^\"\\n]* \"\\\"\" # text"};
    EXPECT_TRUE(fits(grammar, "x,\"a b\""));
    EXPECT_FALSE(fits(grammar, "x"));
    EXPECT_FALSE(fits(grammar, "x,x,x,x"));
  }
}

TEST_F(GrammarTest, EscapesMeanWhatTheirNotationSays) {
  EXPECT_TRUE(fits({GrammarKind::Gbnf, "root ::= \"\\x41bc\" . [\\x30-\\x39.] # a.b\n"}, "Abc\u00fc."));
  EXPECT_FALSE(fits({GrammarKind::Gbnf, "root ::= \"a.\""}, "ab"));
  EXPECT_TRUE(fits_schema(R"({"enum":["\u00fcber"]})", "\"\u00fcber\""));
}

TEST_F(GrammarTest, AMaskNamesAllThatMayFollow) {
  const auto constraint = compiler_.compile({GrammarKind::Ebnf, R"(root ::= "\"name\": " [0-9]+)"})->begin();
  std::vector<std::uint32_t> mask(mask_words(kVocab));
  constraint->fill(mask);
  for (TokenId t = 0; t < static_cast<TokenId>(kVocab); ++t) {
    EXPECT_EQ(allows(mask, t), t == '"' || t == ByteTokenizer::kName) << t;
  }
  ASSERT_TRUE(constraint->accept(ByteTokenizer::kName));
  constraint->fill(mask);
  ASSERT_TRUE(constraint->accept(':'));
  ASSERT_TRUE(constraint->accept(' '));
  constraint->fill(mask);
  EXPECT_FALSE(allows(mask, ByteTokenizer::kEnd));
  ASSERT_TRUE(constraint->accept('7'));
  constraint->fill(mask);
  EXPECT_TRUE(allows(mask, ByteTokenizer::kEnd));
  EXPECT_FALSE(constraint->accept('x'));
  ASSERT_TRUE(constraint->accept(ByteTokenizer::kEnd));
  EXPECT_TRUE(constraint->ended());
  constraint->roll_back(2);
  constraint->fill(mask);
  EXPECT_FALSE(allows(mask, ByteTokenizer::kEnd));
}

TEST_F(GrammarTest, KeepsWhatItHasCompiled) {
  const Grammar grammar{GrammarKind::Regex, "a+"};
  const auto first = compiler_.compile(grammar);
  EXPECT_EQ(compiler_.compile(grammar), first);
  EXPECT_NE(compiler_.compile({GrammarKind::Ebnf, "root ::= \"a\"+"}), first);
}

TEST_F(GrammarTest, WhatIsNoGrammarIsAnError) {
  const Grammar kBad[] = {
      {GrammarKind::Regex, "(a"},
      {GrammarKind::Regex, "a(?=b)"},
      {GrammarKind::Gbnf, "root = \"a\""},
      {GrammarKind::Gbnf, "start ::= \"a\""},
      {GrammarKind::Ebnf, "root ::= missing"},
      {GrammarKind::Ebnf, ""},
      {GrammarKind::JsonSchema, "{"},
      {GrammarKind::JsonSchema, R"({"type":"string","pattern":"a","minLength":3})"},
      {GrammarKind::JsonSchema, R"({"type":"number","multipleOf":0.1})"},
      {GrammarKind::JsonSchema, R"({"allOf":[{"type":"string"},{"type":"string"}]})"},
      {GrammarKind::JsonSchema, R"({"oneOf":[{"type":"string"},{"type":"string","minLength":2}]})"},
      {GrammarKind::JsonSchema, R"({"$ref":"#/$defs/missing"})"},
      {GrammarKind::JsonSchema, R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}})"},
      {GrammarKind::JsonSchema, R"({"type":"integer","minimum":3,"maximum":2})"},
      {GrammarKind::JsonSchema, R"({"type":"string","pattern":7})"},
      {GrammarKind::Regex, std::string(100000, 'a')},
  };
  for (const Grammar& grammar : kBad) {
    EXPECT_NE(error_of([&] { compiler_.compile(grammar); }), "no error")
        << to_string(grammar.kind) << ": " << grammar.text;
  }
}

}  // namespace
}  // namespace augur
