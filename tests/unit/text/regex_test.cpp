#include "text/tokenizer/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

std::vector<std::string> pieces(const Regex& regex, std::string_view text) {
  std::vector<RegexSpan> spans;
  regex.split(text, spans);
  std::vector<std::string> out;
  for (const RegexSpan& span : spans) out.emplace_back(span.text);
  return out;
}

std::string repeat(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

TEST(Regex, CostlyMatchesAreFoundAsAnyOther) {
  // `c` behind many a needs more steps than are free, at places that only the search finds.
  const Regex regex("(?:a|ab)(?:a|b)*?c|d", "here");
  const std::string run(200, 'a');
  EXPECT_THAT(pieces(regex, "xx" + run + "c\xC3\xA9" + "d" + run),
              testing::ElementsAre("xx", run + "c", "\xC3\xA9", "d", run));
  EXPECT_THAT(pieces(regex, "xxd"), testing::ElementsAre("xx", "d"));
}

TEST(Regex, AWholeTextHasOneBudget) {
  // Each start is cheap enough; all of them would take seconds.
  const std::string text(1 << 12, 'a');
  for (const char* pattern : {"(?:a{0,700}){2}b|a", "(?:a{0,700}){2}b|c"}) {
    const Regex regex(pattern, "here");
    EXPECT_THAT(error_of([&] { pieces(regex, text + "b" + text); }), HasSubstr("here: matching failed"))
        << pattern;
    // So do many short texts.
    Regex::Matcher matcher(regex);
    std::vector<RegexSpan> spans;
    EXPECT_THAT(error_of([&] {
                  for (int i = 0; i < 100; ++i) matcher.split(text.substr(0, 300) + "\xFF" + "b", spans);
                }),
                HasSubstr("here: matching failed"))
        << pattern;
  }
}

// One step runs over a whole run of letters, from each of its places anew: days for eight megabytes.
TEST(Regex, RunsThatOneStepCrossesCountToo) {
  for (const char* pattern : {R"((?:\p{L})?\p{L}++1|2)", R"((?=\p{L}++1)|2)", R"((?:ab|\p{L}++1)|2)"}) {
    const Regex regex(pattern, "here");
    EXPECT_THAT(error_of([&] { pieces(regex, repeat("a", 8 << 20) + " 12"); }),
                HasSubstr("here: matching failed"))
        << pattern;
  }
  // Where they match they may be as long as the text.
  const std::string run = repeat("a", 8 << 20);
  EXPECT_THAT(pieces(Regex(R"((?:\p{L})?\p{L}++1|2)", "here"), run + "12"),
              testing::ElementsAre(run + "1", "2"));
}

TEST(Regex, MatchesAreTheSameWhereverAWindowEnds) {
  // What a match sees at first is 256 bytes: assertions, characters of several bytes and empty matches there.
  const Regex regex(R"(\bword\b|\s+(?!\S)|\s|(?<=\d)x*|\xE9+|b$)", "here");
  for (std::size_t before = 240; before < 260; ++before) {
    const std::string dots(before, '.');
    EXPECT_THAT(pieces(regex, dots + "word"), testing::ElementsAre(dots, "word"));
    EXPECT_THAT(pieces(regex, dots + "words" + dots), testing::ElementsAre(dots + "words" + dots));
    EXPECT_THAT(pieces(regex, dots + "  y" + dots), testing::ElementsAre(dots, " ", " ", "y" + dots));
    EXPECT_THAT(pieces(regex, dots + "1xx" + dots), testing::ElementsAre(dots + "1", "xx", dots));
    EXPECT_THAT(pieces(regex, dots + "1" + dots), testing::ElementsAre(dots + "1", dots));
    EXPECT_THAT(pieces(regex, dots + "\xC3\xA9\xC3\xA9" + dots),
                testing::ElementsAre(dots, "\xC3\xA9\xC3\xA9", dots));
    EXPECT_THAT(pieces(regex, dots + "b" + dots + "b"), testing::ElementsAre(dots + "b" + dots, "b"));
  }
}

// What Oniguruma gives (the `tokenizers` package, by pre_tokenizers.Split).
TEST(RegexSyntax, IsOnigurumas) {
  struct Case {
    const char* pattern;
    const char* text;
    std::vector<std::string> expected;
  };
  const Case cases[] = {
      {R"(\p{N}{1,3}+)", "a12345b", {"a", "12345", "b"}},
      {R"(\p{N}{2,3}+)", "a12345b 1", {"a", "12345", "b 1"}},
      {"a{,2}", "aaaa", {"aa", "aa"}},
      {"a{,}|{b}|c{", "{b}c{a{,}", {"{b}", "c{", "a{,}"}},
      {"a$", "ab\na\nca", {"ab\n", "a", "\nc", "a"}},
      {"^a", "ab\na\nca", {"a", "b\n", "a", "\nca"}},
      {".", "a\nb", {"a", "\n", "b"}},
      {"(?m:.)+", "a\nb", {"a\nb"}},
      {R"([^(\s|[.,!?])]+)", "a(b|c.d)e f", {"a", "(", "b", "|", "c", ".", "d", ")", "e", " ", "f"}},
      {"[a-z&&[^c]]+", "abcde", {"ab", "c", "de"}},
      {"[^a-z&&[^c]]+", "abdE1", {"abd", "E1"}},
      {"[a-c&&b-d&&[bc]]+", "abcd", {"a", "bc", "d"}},
      {"[a-c[x-z]]+", "abxcdz", {"abxc", "d", "z"}},
      {"[]a]+", "]ab", {"]a", "b"}},
      {"[[a]-z]+", "abz-", {"a", "b", "z-"}},
      {"[[.]]+", "a.", {"a", "."}},
      {"[[:alpha:]]+", "ab1", {"ab", "1"}},
      {R"([\u4e00-\u9fa5]+)", "a\xE4\xB8\xAD", {"a", "\xE4\xB8\xAD"}},
      {R"(\h+)", "xaF0g", {"x", "aF0", "g"}},
      {R"(\p{^L}+)", "ab12", {"ab", "12"}},
      {R"(\p{Han}+)",
       "\xE4\xB8\xAD\xE3\x80\x81",
       {"\xE4\xB8\xAD", "\xE3\x80\x81"}},  // U+3001: several scripts'
      {R"(\bx\b)", "x\xC2\xB2 xe\xCC\x81 x\xCC\x81 x", {"x\xC2\xB2 xe\xCC\x81 x\xCC\x81 ", "x"}},
      {R"(\Ba)", "aa a", {"a", "a", " a"}},
      {R"(\w+)", "a\xC2\xB2\xCC\x81-", {"a\xC2\xB2\xCC\x81", "-"}},
      {R"([\w]+)", "a\xC2\xB2", {"a", "\xC2\xB2"}},
      {R"([^\S\n]+)", "a \n\tb", {"a", " ", "\n", "\t", "b"}},
      {R"([\s]+)", "a\xE1\xA0\x8E b", {"a\xE1\xA0\x8E", " ", "b"}},  // U+180E is no white space
      {R"(\S+)", "a\xE1\xA0\x8E b", {"a\xE1\xA0\x8E", " ", "b"}},
  };
  for (const Case& c : cases) EXPECT_EQ(pieces(Regex(c.pattern, "here"), c.text), c.expected) << c.pattern;
}

TEST(RegexSyntax, MalformedPatternsAreRefusedWithTheReason) {
  const auto error = [](std::string_view pattern) { return error_of([&] { Regex(pattern, "here"); }); };
  EXPECT_EQ(error("[a"), "here: malformed pattern \"[a\": a set is not closed");
  EXPECT_EQ(
      error("x{3}+"),
      "here: malformed pattern \"x{3}+\": a repeated interval that leaves numbers out is not supported");
  EXPECT_THAT(error(repeat("[", 100) + "a" + repeat("]", 100)), HasSubstr("sets are nested too deep"));
  EXPECT_THAT(error("("), HasSubstr("here: malformed pattern"));
  for (const char* odd :
       {"\\", "[\\", "[a-\\", "\\p{", "[\\p{", "{", "a{", "a{1", "a{1,", "(?", "(?m", "[[:", "&&", "\\u12"})
    EXPECT_THAT(error(odd), testing::AnyOf(testing::StartsWith("here: malformed pattern"), "no error"))
        << odd;
}

}  // namespace
}  // namespace augur
