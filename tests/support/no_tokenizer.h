#pragma once
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace augur::testing_support {

/// For drafters that never look at text.
class NoTokenizer final : public Tokenizer {
 public:
  std::vector<TokenId> encode(std::string_view, std::span<const ByteRange>) const override { return {}; }
  std::string token_bytes(TokenId) const override { return {}; }
  bool is_special(TokenId) const override { return false; }
  std::int32_t vocab_size() const override { return 192; }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }
};

}  // namespace augur::testing_support
