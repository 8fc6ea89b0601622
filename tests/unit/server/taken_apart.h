#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "server/tools/tool_parser.h"

namespace augur::testing_support {

/// An answer in pieces, "content|name:arguments|..." in order; pieces that belong together are joined.
class TakenApart {
 public:
  explicit TakenApart(ToolParser parser) : parser_(std::move(parser)) {}

  void read(std::string_view text) { take(parser_.read_text(text)); }
  std::string end() {
    take(parser_.read_end());
    return out_;
  }

 private:
  void take(const std::vector<AnswerPiece>& pieces) {
    for (const AnswerPiece& piece : pieces) {
      EXPECT_EQ(!piece.name.empty(), piece.call >= 0 && piece.call != last_) << "a call's name comes first";
      if (piece.call != last_) out_ += (last_ == -2 ? "" : "|") + piece.name + (piece.call >= 0 ? ":" : "");
      out_ += piece.text;
      last_ = piece.call;
    }
  }

  ToolParser parser_;
  std::string out_;
  int last_ = -2;
};

/// The same, wherever the text is cut.
inline std::string taken_apart(const ToolParser& parser, std::string_view text) {
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
