#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sampling/token_constraint.h"

namespace augur::testing_support {

/// A constraint of a few lines: t may follow s where (7 s + 5 t + n) % 3 is not 0 at position n, so that what
/// may come next depends on the path. Every fifth token is forced.
class ParityConstraint : public TokenConstraint {
 public:
  explicit ParityConstraint(std::int64_t vocab) : vocab_(vocab) {}

  static bool follows(std::int64_t last, std::int64_t position, std::int64_t token) {
    if (position % 5 == 4) return token == 10 + (last + position) % 20;
    return (7 * last + 5 * token + position) % 3 != 0;
  }
  /// Whether it allows a whole text.
  static bool allows(const std::vector<TokenId>& text) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < text.size(); last = text[i++]) {
      if (!follows(last, static_cast<std::int64_t>(i), text[i])) return false;
    }
    return true;
  }

  bool accept(TokenId token) override {
    if (!follows(last(), std::ssize(text_), token)) return false;
    text_.push_back(token);
    return true;
  }
  void roll_back(int tokens) override { text_.resize(text_.size() - static_cast<std::size_t>(tokens)); }
  bool ended() const override { return false; }
  void fill(std::span<std::uint32_t> mask) override {
    std::fill(mask.begin(), mask.end(), 0u);
    for (std::int64_t t = 0; t < vocab_; ++t) {
      if (follows(last(), std::ssize(text_), t)) mask[static_cast<std::size_t>(t / 32)] |= 1u << (t % 32);
    }
  }

 protected:
  std::int64_t length() const { return std::ssize(text_); }  ///< tokens accepted

 private:
  std::int64_t last() const { return text_.empty() ? 0 : text_.back(); }

  std::int64_t vocab_;
  std::vector<TokenId> text_;
};

}  // namespace augur::testing_support
