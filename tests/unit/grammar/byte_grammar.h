#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "grammar/compiler.h"
#include "sampling/token_mask.h"

namespace augur {

/// Every byte is a token; then a few longer ones; the last ends a text.
class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() { eos = {kEnd}; }
  static constexpr TokenId kName = 256;
  static constexpr TokenId kThink = 258;
  static constexpr TokenId kEnd = 259;

  std::vector<TokenId> encode(std::string_view text, std::span<const ByteRange>) const override {
    if (text == token_bytes(kThink)) return {kThink};
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

inline constexpr std::int64_t kVocab = 300;  // logits that no token has

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

}  // namespace augur
