#include "server/same_key.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace augur {
namespace {

/// A text that knows how often it was read.
class WatchedText {
 public:
  explicit WatchedText(std::string text) : text_(std::move(text)) {}
  std::size_t size() const { return text_.size(); }
  char operator[](std::size_t i) const {
    ++reads_;
    return text_[i];
  }
  int reads() const { return reads_; }

 private:
  std::string text_;
  mutable int reads_ = 0;
};

TEST(SameKey, ReadsAsMuchWhereverTheyDiffer) {
  const std::string key = "0123456789abcdef";
  for (std::size_t i = 0; i <= key.size(); ++i) {
    std::string text = key;
    if (i < key.size()) text[i] = 'x';
    const WatchedText sent(text);
    const WatchedText known(key);
    EXPECT_EQ(is_same_key(sent, known), i == key.size());
    EXPECT_EQ(sent.reads(), 16) << i;
    EXPECT_EQ(known.reads(), 16) << i;
  }
}

TEST(SameKey, TellsNothingOfAKeysLength) {
  for (const char* text : {"", "a", "secret", "secretsecret", "another one"}) {
    const WatchedText sent(text);
    const WatchedText short_key("s");
    const WatchedText long_key("secret and much more than that");
    EXPECT_FALSE(is_same_key(sent, short_key));
    EXPECT_FALSE(is_same_key(sent, long_key));
    EXPECT_EQ(short_key.reads(), static_cast<int>(sent.size())) << text;
    EXPECT_EQ(long_key.reads(), static_cast<int>(sent.size())) << text;
  }
}

TEST(SameKey, IsComparedWithAllOfThem) {
  const std::vector<WatchedText> keys = {WatchedText("first"), WatchedText("second"), WatchedText("third")};
  EXPECT_EQ(index_of_key(std::string("first"), keys), 0U);
  EXPECT_EQ(index_of_key(std::string("fifth"), keys), std::nullopt);
  for (const WatchedText& key : keys) EXPECT_EQ(key.reads(), 10);
}

}  // namespace
}  // namespace augur
