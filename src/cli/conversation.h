#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "cli/output.h"

namespace augur::cli {

/// A conversation with a model in a terminal: what was said, and the commands that change it.
class Conversation {
 public:
  /// `request` is what every turn has in common. `engine` outlives it. `interactive`: a person reads along.
  Conversation(Engine& engine, Request request, std::string system, bool color, bool interactive);

  /// A message, which is answered, or a command (/help lists them). False: it is over.
  bool take(const std::string& turn);
  /// 128 + the signal that ended it; 1: an answer failed, where nobody reads along; 0: all is well.
  int exit_code() const { return exit_code_; }

 private:
  bool command(std::string_view name, const std::string& argument);
  /// Streams the answer to messages_ and appends it.
  void answer();
  void regenerate();
  void set_speculation(const std::string& argument);
  void save(const std::string& file);
  void say(std::string_view text);

  Request request_;
  std::string system_;
  bool color_;
  bool interactive_;
  std::vector<Message> messages_;  ///< without the system's
  std::optional<Result> last_;
  bool over_ = false;
  int exit_code_ = 0;
  Output out_;
  Session session_;  ///< keeps what was computed of the conversation for the next turn
};

}  // namespace augur::cli
