#include "grammar/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "byte_grammar.h"
#include "grammar/compiler.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

class GbnfTest : public GrammarTest {
 protected:
  bool fits(const std::string& gbnf, std::string_view text) {
    return GrammarTest::fits({GrammarKind::Gbnf, gbnf, {}}, text);
  }
  std::string problem(const std::string& gbnf) {
    return error_of([&] { compiler_.compile({GrammarKind::Gbnf, gbnf, {}}); });
  }
};

struct Case {
  const char* gbnf;
  std::vector<const char*> texts;
  std::vector<const char*> others;
};

TEST_F(GbnfTest, TheWholeNotation) {
  const Case cases[] = {
      {"root ::= \"x\" ws\nws ::= | \" \"", {"x", "x "}, {"", "x  "}},
      {"root ::= \"x\" (| \"y\" |) \"z\"", {"xz", "xyz"}, {"x", "xyyz"}},
      {"root ::= a |\n  b\n\na ::= \"1\"\nb ::= \"2\"", {"1", "2"}, {"12", ""}},
      {"root ::=\n  # comment\n  (\n \"a\" # b\n \"c\"\n)\n", {"ac"}, {"a", "ac\n"}},
      {"root ::= \"ab\"*", {"", "abab"}, {"abb", "a"}},
      {"root ::= [ab]+?", {"", "abba"}, {"c"}},
      {"root ::= \"a\"{2}{3}", {"aaaaaa"}, {"aaaaa", "aaaaaaaa"}},
      {"root ::= \"a\"{2,} \"b\"{ 0 , 2 }", {"aa", "aaaabb"}, {"a", "aabbb"}},
      {"root ::= [a-c^] [^-a-c] [x-]", {"bzx", "^^-"}, {"bax", "b-x", "bzy"}},
      {"root ::= [\\]\\[\\\\\\-\\\"] \"\\\\\\\"\"", {"]\\\"", "-\\\"", "\"\\\""}, {"a\\\""}},
      {"root ::= \"\\x41bc\" \"\\u00fc\" \"\\U0001F600\" [\\t\\n\\r]",
       {"Abc\u00fc\U0001F600\t", "Abc\u00fc\U0001F600\r"},
       {"Abc\u00fc\U0001F600"}},
      {"root ::= . .", {"a\n", "\u00fcb", "\U0001F600\U0001F600"}, {"a", "abc"}},
      {"root ::= \"a\nb\"", {"a\nb"}, {"a"}},
      {"root ::= 1st true Token\n1st ::= \"1\"\ntrue ::= \"t\"\nToken ::= \"k\"", {"1tk"}, {"1t"}},
      {"root ::= a-b a_b\na-b ::= \"-\"\na_b ::= \"_\"", {"-_"}, {"--"}},
      {"root ::= \"\" [] \"x\" [^]", {"x"}, {""}},
      {"root ::= \"1\"\nroot ::= \"2\"\n", {"2"}, {"1", "12"}},
      {"\n\n  # first\nroot::=\"a\"\r\n", {"a"}, {"a\r\n"}},
      {"root ::= list\nlist ::= \"x\" | list \",\" \"x\"", {"x", "x,x,x"}, {"x,", ""}},
      {"root ::= [\u3041-\u309f]+", {"\u3042\u3044"}, {"a", "\u4e00"}},
  };
  for (const auto& [gbnf, texts, others] : cases) {
    for (const char* text : texts) EXPECT_TRUE(fits(gbnf, text)) << gbnf << "\n" << text;
    for (const char* text : others) EXPECT_FALSE(fits(gbnf, text)) << gbnf << "\n" << text;
  }
}

TEST_F(GbnfTest, Tokens) {
  const auto begin = [&](const char* gbnf) {
    return compiler_.compile({GrammarKind::Gbnf, gbnf, {}})->begin();
  };
  for (const char* gbnf : {"root ::= <think> \"a\"", "root ::= <[258]> \"a\""}) {
    const auto constraint = begin(gbnf);
    EXPECT_FALSE(constraint->accept('<')) << gbnf;
    EXPECT_TRUE(constraint->accept(ByteTokenizer::kThink) && constraint->accept('a')) << gbnf;
    EXPECT_TRUE(constraint->accept(ByteTokenizer::kEnd)) << gbnf;
  }
  const auto others = begin("root ::= !<think>+ <think>");
  EXPECT_FALSE(others->accept(ByteTokenizer::kThink));
  EXPECT_TRUE(others->accept('a') && others->accept(ByteTokenizer::kName));
  EXPECT_TRUE(others->accept(ByteTokenizer::kThink) && others->accept(ByteTokenizer::kEnd));
}

TEST_F(GbnfTest, WhatIsNoneIsAnErrorWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "\"root\""},
      {"start ::= \"a\"", "\"root\""},
      {"root = \"a\"", "line 1, column 6: expected ::="},
      {"root ::= a\nb ::= \"b\" a\n", "line 1, column 10: rule \"a\""},
      {"root ::= \"a", "unexpected end"},
      {"root ::= [a", "unexpected end"},
      {"root ::= (\"a\"", "expected )"},
      {"root ::= \"a\")", "unexpected )"},
      {"root ::= *", "unexpected *"},
      {"root ::= \"a\"\n  \"b\"", "line 2, column 3: expected the name of a rule"},
      {"root ::= \"\\q\"", "escape"},
      {"root ::= \"\\x4\"", "2 hexadecimal digits"},
      {"root ::= \"\\U00110000\"", "U+110000"},
      {"root ::= \"\\ud800\"", "U+D800"},
      {"root ::= \"\xff\"", "UTF-8"},
      {"root ::= [z-a]", "range"},
      {"root ::= \"a\"{3,2}", "at least 3 and at most 2"},
      {"root ::= \"a\"{,2}", "number"},
      {"root ::= \"a\"{10001}", "10000"},
      {"root ::= <other>", "<other> is not one token"},
      {"root ::= <[99999999999]>", "token's id"},
      {"root ::= <[4000]>", "4000"},
  };
  for (const auto& [gbnf, expected] : cases) EXPECT_THAT(problem(gbnf), HasSubstr(expected)) << gbnf;
  const std::string deep = "root ::= " + std::string(1000, '(') + "\"a\"" + std::string(1000, ')');
  EXPECT_THAT(problem(deep), HasSubstr("parentheses"));
}

/// Grammar files of others, with texts that they admit and do not: tests/clients names both.
TEST_F(GbnfTest, FilesAdmitWhatTheyAdmitElsewhere) {
  const char* const folder = std::getenv("AUGUR_GBNF_FILES");
  const char* const texts = std::getenv("AUGUR_GBNF_TEXTS");
  if (folder == nullptr || texts == nullptr)
    GTEST_SKIP() << "AUGUR_GBNF_FILES and AUGUR_GBNF_TEXTS name none";
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".gbnf") left.insert(entry.path().filename().string());
  }
  std::ifstream lines(texts);
  for (std::string line; std::getline(lines, line);) {
    const auto item = nlohmann::json::parse(line);
    const std::string name = item["file"];
    std::stringstream gbnf;
    gbnf << std::ifstream(std::filesystem::path(folder) / name).rdbuf();
    EXPECT_EQ(problem(gbnf.str()), "no error") << name;
    for (const std::string text : item["fits"]) EXPECT_TRUE(fits(gbnf.str(), text)) << name << "\n" << text;
    for (const std::string text : item["others"])
      EXPECT_FALSE(fits(gbnf.str(), text)) << name << "\n" << text;
    left.erase(name);
  }
  EXPECT_THAT(left, testing::IsEmpty()) << "without texts";
}

}  // namespace
}  // namespace augur
