#include "grammar/xgrammar/constraint.h"

#include <bit>
#include <cstdint>
#include <utility>

namespace augur {
namespace {

/// Tokens that all begin each other are few: the longest has not many beginnings.
constexpr int kMostBeginnings = 64;

class Constraint final : public TokenConstraint {
 public:
  Constraint(const xgrammar::CompiledGrammar& grammar, TokenBytes bytes)
      : matcher_(grammar), bytes_(std::move(bytes)) {}

  bool accept(TokenId token) override { return matcher_.AcceptToken(token); }
  void roll_back(int tokens) override { matcher_.Rollback(tokens); }
  bool ended() const override { return matcher_.IsTerminated(); }

  void fill(std::span<std::uint32_t> mask) override {
    std::int64_t words = std::ssize(mask);
    DLTensor tensor{.data = mask.data(),
                    .device = {kDLCPU, 0},
                    .ndim = 1,
                    .dtype = xgrammar::GetBitmaskDLType(),
                    .shape = &words,
                    .strides = nullptr,
                    .byte_offset = 0};
    matcher_.FillNextTokenBitmask(&tensor);
  }

  TokenId forced(TokenMask mask) const override {
    int count = 0;
    for (const std::uint32_t word : mask) {
      count += std::popcount(word);
      if (count > kMostBeginnings) return -1;
    }
    std::vector<TokenId> tokens;
    TokenId longest = -1;
    for (std::size_t word = 0; word < mask.size(); ++word) {
      for (std::uint32_t bits = mask[word]; bits != 0; bits &= bits - 1) {
        const auto token = static_cast<TokenId>(32 * word + static_cast<std::size_t>(std::countr_zero(bits)));
        tokens.push_back(token);
        if (longest < 0 || bytes_of(token).size() > bytes_of(longest).size()) longest = token;
      }
    }
    for (const TokenId token : tokens) {
      if (token != longest && (bytes_of(token).empty() || !bytes_of(longest).starts_with(bytes_of(token))))
        return -1;
    }
    return longest;
  }

 private:
  const std::string& bytes_of(TokenId token) const { return (*bytes_)[static_cast<std::size_t>(token)]; }

  xgrammar::GrammarMatcher matcher_;
  TokenBytes bytes_;
};

}  // namespace

std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar, TokenBytes bytes) {
  return std::make_unique<Constraint>(grammar, std::move(bytes));
}

}  // namespace augur
