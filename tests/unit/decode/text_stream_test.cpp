#include "decode/text_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "support/stories.h"

namespace augur {
namespace {

TEST(StopMatcher, HoldsBackWhatMayBecomeAStopString) {
  StopMatcher stop({"END", "\n\n"});
  EXPECT_EQ(stop.push("text E"), "text ");
  EXPECT_EQ(stop.push("N"), "");
  EXPECT_EQ(stop.push("ough\n"), "ENough");
  EXPECT_FALSE(stop.stopped());
  EXPECT_EQ(stop.push("\nmore"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.push("END"), "");
  EXPECT_EQ(stop.flush(), "");
}

TEST(StopMatcher, FlushesAnUnfinishedStopString) {
  StopMatcher stop({"abc"});
  EXPECT_EQ(stop.push("xab"), "x");
  EXPECT_EQ(stop.flush(), "ab");
}

TEST(StopMatcher, RefusesAnEmptyStopString) {
  EXPECT_THROW(StopMatcher({"a", ""}), Error);
}

TEST(StopMatcher, ReleasesTheTextBeforeTheFirstMatchHoweverItArrives) {
  std::mt19937 random(9);
  const auto word = [&](std::size_t length) {
    std::string out;
    for (std::size_t i = 0; i < length; ++i) out += static_cast<char>('a' + random() % 2);
    return out;
  };
  int stops = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> strings;
    for (unsigned i = 0; i <= random() % 3; ++i) strings.push_back(word(2 + random() % 6));
    const std::string text = word(20);
    // The text ends where the first stop string that is completed begins (the longest of those).
    std::string expected = text;
    bool stopped = false;
    for (std::size_t end = 1; end <= text.size() && !stopped; ++end) {
      for (const std::string& s : strings) {
        if (!std::string_view(text).substr(0, end).ends_with(s)) continue;
        stopped = true;
        expected = text.substr(0, std::min(expected.size(), end - s.size()));
      }
    }
    StopMatcher by_character(strings);
    std::string released;
    for (const char c : text) released += by_character.push(std::string_view(&c, 1));
    released += by_character.flush();
    ASSERT_EQ(released, expected);
    ASSERT_EQ(by_character.stopped(), stopped);
    stops += stopped;
  }
  EXPECT_GT(stops, 500);
}

TEST(TextStream, ContinuesThePromptAndStopsInsideAToken) {
  const auto tokenizer = Checkpoint::open(testing_support::stories_path()).load_tokenizer();
  std::vector<TokenId> prompt{tokenizer->bos.value()};
  const std::vector<TokenId> all = tokenizer->encode("Once upon a time, there was a little girl");
  const std::size_t half = all.size() / 2;
  prompt.insert(prompt.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half));
  const std::string before = tokenizer->decode(prompt);

  TextStream stream(*tokenizer, prompt, {"little"}, StreamDecoder(*tokenizer));
  std::string text;
  for (std::size_t i = half; i < all.size(); ++i) text += stream.push(all[i]);
  text += stream.flush();
  EXPECT_EQ(before + text, "Once upon a time, there was a ");
  EXPECT_TRUE(stream.stopped());

  TextStream from_bos(*tokenizer, std::vector<TokenId>{*tokenizer->bos}, {}, StreamDecoder(*tokenizer));
  std::string whole;
  for (const TokenId token : all) whole += from_bos.push(token);
  EXPECT_EQ(whole + from_bos.flush(), "Once upon a time, there was a little girl");
  EXPECT_EQ(from_bos.push(100000), "") << "beyond the tokenizer's vocabulary";
}

}  // namespace
}  // namespace augur
