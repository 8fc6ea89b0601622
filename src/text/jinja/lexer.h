#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace augur::jinja {

struct Token {
  enum class Kind {
    Text,
    OutputBegin,
    OutputEnd,
    BlockBegin,
    BlockEnd,
    Name,
    String,
    Integer,
    Float,
    Operator,
    End
  };
  Kind kind = Kind::End;
  std::string text;  ///< a string's value, escapes resolved
  int line = 1;
};

/// Cuts a template into tokens with Jinja's rules for white space and Hugging Face's settings: trim_blocks
/// and lstrip_blocks on, one newline at the end of the template dropped. Error with the line for what is
/// malformed.
std::vector<Token> tokenize(std::string_view source);

}  // namespace augur::jinja
