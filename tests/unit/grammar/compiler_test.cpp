#include "grammar/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "byte_grammar.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

TEST_F(GrammarTest, EveryKindTakesItsTextsAndNoOther) {
  EXPECT_TRUE(fits({GrammarKind::Json, ""}, R"({"a": [1, {"b": null}], "c": "\"x\""})"));
  EXPECT_FALSE(fits({GrammarKind::Json, ""}, R"([1])"));
  const std::string schema =
      R"({"type":"object","properties":{"z":{"type":"integer"},"a":{"enum":["x","y"]}},"required":["z"]})";
  EXPECT_TRUE(fits_schema(schema, R"({"z": 3, "a": "y"})"));
  EXPECT_TRUE(fits_schema(schema, R"({"z":-12})"));
  EXPECT_FALSE(fits_schema(schema, R"({"a": "x"})"));
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

// What follows are texts that the library alone would let through.

TEST_F(GrammarTest, ExpressionsMatchWhatTheyShouldAndNoMore) {
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; texts[i].size() < 6; ++i) {
    for (const char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  }
  for (const char* expression :
       {"a(ba+)?b", "a(ba*)?b", "(a+b)?a", "((ab)*a)?b", "(ab*|bb){2,}a", "(ab*|b){1,}", "(a?b){2,3}",
        "(a|ba+)?(b+a)?", "(a{1,2}b?)*", "((a?)+b)?a", "(a*b){0,}a?", "(aa?|b{2,}){1,2}b"}) {
    const std::regex reference(expression);
    for (const std::string& text : texts) {
      EXPECT_EQ(fits({GrammarKind::Regex, expression}, text), std::regex_match(text, reference))
          << expression << " " << text;
    }
  }
}

TEST_F(GrammarTest, StringsOfASchemaHaveNoRawControlCharactersOrQuotes) {
  for (const char* schema :
       {R"({"type":"string"})", R"({"type":"string","minLength":1,"maxLength":9})",
        R"({"type":"string","pattern":"^a?.*$"})", R"({"type":"string","pattern":"^[^b]*$"})"}) {
    EXPECT_TRUE(fits_schema(schema, "\"a\u00fc\"")) << schema;
    EXPECT_FALSE(fits_schema(schema, "\"a\t\"")) << schema;
    EXPECT_FALSE(fits_schema(schema, "\"a\x01\"")) << schema;
    EXPECT_FALSE(fits_schema(schema, "\"a\"a\"")) << schema;
    EXPECT_FALSE(fits_schema(schema, R"("a\q")")) << schema;
  }
}

TEST_F(GrammarTest, RequiredPropertiesNeedNoSchema) {
  EXPECT_FALSE(fits_schema(R"({"type":"object","required":["a\n"]})", R"({"b": 1})"));
  EXPECT_TRUE(fits_schema(R"({"type":"object","required":["a\n"]})", R"({"a\n": 1, "b": 1})"));
  const std::string some = R"({"type":"object","properties":{"b":{"type":"null"}},"required":["a"]})";
  EXPECT_FALSE(fits_schema(some, R"({"b": null})"));
  EXPECT_TRUE(fits_schema(some, R"({"b": null, "a": [1]})"));
  const std::string typed = R"({"type":"object","additionalProperties":{"type":"integer"},"required":["a"]})";
  EXPECT_TRUE(fits_schema(typed, R"({"a": 1, "c": 2})"));
  EXPECT_FALSE(fits_schema(typed, R"({"a": "1"})"));
  EXPECT_FALSE(fits_schema(typed, R"({"c": 2})"));
}

TEST_F(GrammarTest, NoNameIsSpeltTwice) {
  const std::string schema =
      R"({"type":"object","properties":{"ab":{"type":"null"}},"required":["ab"],"additionalProperties":true})";
  EXPECT_TRUE(fits_schema(schema, R"({"ab": null, "abc": 1, "b\u0061": 2})"));
  EXPECT_FALSE(fits_schema(schema, R"({"ab": null, "ab": 1})"));
  EXPECT_FALSE(fits_schema(schema, R"({"ab": null, "a\u0062": 1})"));
  EXPECT_FALSE(fits_schema(schema, R"({"ab": null, "\u0061b": 1})"));
}

TEST_F(GrammarTest, FormatsAreStrict) {
  const std::tuple<const char*, std::vector<const char*>, std::vector<const char*>> kFormats[] = {
      {"date",
       {"2024-02-29", "2000-02-29", "2023-12-31"},
       {"2023-02-29", "1900-02-29", "2023-04-31", "0000-01-01"}},
      {"time", {"23:59:59Z", "01:02:03.5+01:30"}, {"24:00:00Z", "12:00:60Z", "12:00:00", "12:00:001Z"}},
      {"date-time", {"2024-02-29T10:00:00Z"}, {"2023-02-29T10:00:00Z", "2024-02-29"}},
      {"duration", {"P1Y2M3D", "PT1H", "P2W"}, {"P", "PT", "P1D2Y"}},
      {"email", {"a.b+c@example-site.org"}, {"a..b@c", "@c", "a@", "a\\qb@c"}},
      {"hostname", {"a", "www.example-1.org"}, {"-a", "a-", "a..b", "xn--x"}},
      {"ipv4", {"0.10.200.255"}, {"010.1.1.1", "1.2.3", "1.2.3.256"}},
      {"ipv6",
       {"::", "::1", "1:2:3:4:5:6:7:8", "1::8", "fe80::a:b"},
       {"1:2", ":::", "1::2::3", "::ffff:1.2.3.04"}},
      {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000"}},
      {"uri", {"https://a.org:80/b?c#d", "urn:x"}, {"a", "http://a b"}},
      {"uri-reference", {"../a?b", "//a/b", "#c"}, {"a b", "\\"}},
      {"uri-template", {"http://a/{b,c*}"}, {"{", "a b"}},
      {"json-pointer", {"", "/a~0b/ü"}, {"a", "/~2", "/\"", "/\t"}},
      {"relative-json-pointer", {"0", "1/a", "2#"}, {"/a", "01", "0/\"b"}},
  };
  for (const auto& [format, fitting, others] : kFormats) {
    const std::string schema = std::string(R"({"type":"string","format":")") + format + "\"}";
    for (const char* text : fitting) {
      EXPECT_TRUE(fits_schema(schema, "\"" + std::string(text) + "\"")) << format << ": " << text;
    }
    for (const char* text : others) {
      EXPECT_FALSE(fits_schema(schema, "\"" + std::string(text) + "\"")) << format << ": " << text;
    }
  }
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

/// A tag around one schema, behind any text or at once.
std::string tag(const std::string& type, const std::string& more) {
  return R"({"type": "structural_tag", "format": {"type": ")" + type +
         R"(", "tags": [{"type": "tag", "begin": "<f>",
    "content": {"type": "json_schema", "json_schema": {"type": "integer"}}, "end": "</f>"}], )" +
         more + "}}";
}

TEST_F(GrammarTest, StructuralTags) {
  const Grammar free{.kind = GrammarKind::StructuralTag,
                     .text = tag("triggered_tags", R"("triggers": ["<f>"])")};
  EXPECT_TRUE(fits(free, "any < text <f>12</f> and <f>3</f>"));
  EXPECT_TRUE(fits(free, ""));
  EXPECT_FALSE(fits(free, "any <f>x"));
  const Grammar only{.kind = GrammarKind::StructuralTag,
                     .text = tag("tags_with_separator", R"("separator": ", ", "at_least_one": true)")};
  EXPECT_TRUE(fits(only, "<f>12</f>, <f>3</f>"));
  EXPECT_FALSE(fits(only, "<f>12</f> <f>"));
  EXPECT_FALSE(fits(only, ""));
}

/// A special token stands in no text, but where it is named.
TEST_F(GrammarTest, StructuralTagsOfTokens) {
  const auto begin = [&](const std::string& format) {
    return compiler_
        .compile({.kind = GrammarKind::StructuralTag,
                  .text = R"({"type": "structural_tag", "format": )" + format + "}"})
        ->begin();
  };
  const auto named = begin(R"({"type": "sequence", "elements": [{"type": "token", "token": 258},
                              {"type": "const_string", "value": "ab"}]})");
  EXPECT_FALSE(named->accept('a'));
  EXPECT_TRUE(named->accept(ByteTokenizer::kThink) && named->accept('a') && named->accept('b'));
  EXPECT_TRUE(named->accept(ByteTokenizer::kEnd));
  const auto triggered =
      begin(R"({"type": "token_triggered_tags", "trigger_tokens": [258], "tags": [{"type": "tag",
      "begin": {"type": "token", "token": 258}, "content": {"type": "regex", "pattern": "[0-9]+"}, "end": "."}]})");
  EXPECT_TRUE(triggered->accept('x') && triggered->accept(ByteTokenizer::kThink));
  EXPECT_FALSE(triggered->accept('x'));
  EXPECT_TRUE(triggered->accept('7') && triggered->accept('.') && triggered->accept('x'));
}

TEST_F(GrammarTest, StructuralTagsThatAreNone) {
  const auto problem = [&](const std::string& format) {
    return error_of([&] {
      compiler_.compile({.kind = GrammarKind::StructuralTag,
                         .text = R"({"type": "structural_tag", "format": )" + format + "}"});
    });
  };
  EXPECT_THAT(problem("3"), HasSubstr("#/format is to be an object"));
  EXPECT_THAT(problem(R"({"type": "dispatch"})"), HasSubstr("#/format/type 'dispatch'"));
  EXPECT_THAT(problem(R"({"type": "const_string"})"), HasSubstr("#/format/value is missing"));
  EXPECT_THAT(problem(R"({"type": "or", "elements": []})"), HasSubstr("#/format/elements"));
  EXPECT_THAT(problem(R"({"type": "star", "content": {"type": "token", "token": -1}})"),
              HasSubstr("#/format/content/token"));
  EXPECT_THAT(problem(R"({"type": "token", "token": 70000})"), Not(testing::IsEmpty()));
  EXPECT_THAT(problem(R"({"type": "any_text", "max_tokens": 3})"), HasSubstr("#/format/max_tokens"));
  EXPECT_THAT(problem(R"({"type": "json_schema", "json_schema": {"type": "array", "uniqueItems": true}})"),
              HasSubstr("#/uniqueItems"));
  EXPECT_THAT(problem(R"({"type": "regex", "pattern": "("})"), HasSubstr("grammar: "));
  EXPECT_THAT(
      problem(R"({"type": "triggered_tags", "triggers": ["<x>"], "tags": [{"type": "tag", "begin": "<f>",
                          "content": {"type": "any_text"}, "end": "."}]})"),
      HasSubstr("trigger"));
}

}  // namespace
}  // namespace augur
