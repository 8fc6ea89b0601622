#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "server/turns/answer_parser.h"

namespace augur::testing_support {

/// An answer in pieces, "(thought)|content|name:arguments|..." in order; pieces that belong together are
/// joined.
class TakenApart {
 public:
  explicit TakenApart(AnswerParser parser) : parser_(std::move(parser)) {}

  void read(std::string_view text) { take(parser_.read_text(text)); }
  std::string end() {
    take(parser_.read_end());
    if (last_ == kThought) out_ += ')';
    return out_;
  }

 private:
  void take(const std::vector<AnswerPiece>& pieces) {
    for (const AnswerPiece& piece : pieces) {
      EXPECT_EQ(!piece.name.empty(), piece.call >= 0 && piece.call != last_) << "a call's name comes first";
      EXPECT_FALSE(piece.thought && piece.call >= 0);
      const int kind = piece.thought ? kThought : piece.call;
      if (kind != last_) {
        if (last_ == kThought) out_ += ')';
        out_ += (last_ == kNothing ? "" : "|") + piece.name + (piece.call >= 0 ? ":" : "");
        if (piece.thought) out_ += '(';
      }
      out_ += piece.text;
      last_ = kind;
    }
  }

  AnswerParser parser_;
  std::string out_;
  static constexpr int kNothing = -3;
  static constexpr int kThought = -2;
  int last_ = kNothing;
};

/// The same, wherever the text is cut.
inline std::string taken_apart(const AnswerParser& parser, std::string_view text) {
  TakenApart whole(parser);
  whole.read(text);
  const std::string expected = whole.end();
  TakenApart bytes(parser);
  for (const char& c : text) bytes.read({&c, 1});
  EXPECT_EQ(bytes.end(), expected) << "byte by byte: " << text;
  for (std::size_t at = 1; at < text.size(); ++at) {
    TakenApart cut(parser);
    cut.read(text.substr(0, at));
    cut.read(text.substr(at));
    EXPECT_EQ(cut.end(), expected) << "cut at " << at << ": " << text;
  }
  return expected;
}

}  // namespace augur::testing_support
