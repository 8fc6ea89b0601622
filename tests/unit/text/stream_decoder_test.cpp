#include <gtest/gtest.h>

#include "unit/text/tokenizer_files.h"

namespace augur {
namespace {

using namespace testing_tokenizers;

/// Tokens whose bytes a test chooses: id = index, the last one special.
class FakeTokenizer : public Tokenizer {
 public:
  FakeTokenizer(std::vector<std::string> tokens, bool strips) : tokens_(std::move(tokens)), strips_(strips) {}
  std::vector<TokenId> encode(std::string_view, std::span<const ByteRange>) const override { return {}; }
  std::string token_bytes(TokenId id) const override { return tokens_.at(static_cast<std::size_t>(id)); }
  bool is_special(TokenId id) const override { return id + 1 == vocab_size(); }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(tokens_.size()); }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }
  bool strips_leading_space() const override { return strips_; }

 private:
  std::vector<std::string> tokens_;
  bool strips_;
};

TEST(StreamDecoder, NeverEmitsHalfACharacter) {
  const FakeTokenizer tokenizer({"a", "\xF0\x9F", "\xA6", "\x99!", "</s>"}, false);
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(0), "a");
  EXPECT_EQ(stream.push(1), "");
  EXPECT_EQ(stream.push(2), "");
  EXPECT_EQ(stream.push(4), "");  // hidden, and between the bytes
  EXPECT_EQ(stream.push(3), "\xF0\x9F\xA6\x99!");
  EXPECT_EQ(stream.flush(), "");
}

TEST(StreamDecoder, BytesThatCannotBecomeTextAreReplaced) {
  const FakeTokenizer tokenizer({"\xFF", "a\xE2\x96", "b", "</s>"}, false);
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(0), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(1), "a");
  EXPECT_EQ(stream.push(2),
            "\xEF\xBF\xBD"
            "b");  // one for the broken character
  EXPECT_EQ(stream.push(1), "a");
  EXPECT_EQ(stream.flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.flush(), "");
}

TEST(StreamDecoder, DropsOneLeadingSpaceWhereTheTokenizerDoes) {
  const FakeTokenizer tokenizer({" a", "  b", "<s>"}, true);
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(2), "");
  EXPECT_EQ(stream.push(0), "a");
  EXPECT_EQ(stream.push(0), " a");
  StreamDecoder two(tokenizer);
  EXPECT_EQ(two.push(1), " b");
  StreamDecoder shown(tokenizer, true);
  EXPECT_EQ(shown.push(2), "<s>");
  EXPECT_EQ(shown.push(0), " a");
  StreamDecoder one(tokenizer, false, {2});
  EXPECT_EQ(one.push(2), "<s>");
}

TEST(StreamDecoder, ByteFallbackTokensBecomeCharacters) {
  const auto tokenizer = load(data("llama-spm.tokenizer.model"));
  const std::string text = "\xF0\x9F\xA6\x99 llama";
  StreamDecoder stream(*tokenizer);
  std::string out;
  int silent = 0;
  for (const TokenId id : tokenizer->encode(text)) {
    const std::string more = stream.push(id);
    silent += more.empty();
    out += more;
  }
  EXPECT_EQ(out, text);
  EXPECT_GE(silent, 3);  // the first three bytes of the emoji
}

}  // namespace
}  // namespace augur
