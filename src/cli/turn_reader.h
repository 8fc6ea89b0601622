#pragma once
#include <optional>
#include <string>

namespace augur::cli {

/// What a person says, turn by turn, from standard input: with a prompt and line editing on a terminal,
/// otherwise as it comes. A turn is a line; a backslash at a line's end goes on in the next one.
class TurnReader {
 public:
  TurnReader();
  /// Nothing: the input has ended.
  std::optional<std::string> next();
  bool interactive() const { return interactive_; }

 private:
  std::optional<std::string> line(bool first);

  bool interactive_;
};

}  // namespace augur::cli
