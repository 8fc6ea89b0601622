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

}  // namespace
}  // namespace augur
