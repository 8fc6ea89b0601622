#pragma once
#include <string>
#include <vector>

namespace augur {

/// A model's wish that a function be called.
struct ToolCall {
  std::string id;  ///< by which the message that answers it names it
  std::string name;
  std::string arguments;  ///< a JSON object
};

/// One turn of a conversation.
struct Message {
  std::string role;  ///< "system", "user", "assistant", "tool"
  std::string content;
  std::vector<ToolCall> tool_calls;  ///< the assistant's
  std::string tool_call_id;          ///< role "tool": which call this answers
  std::string name;                  ///< role "tool": of the function; empty: not said
  /// How a template sees content that is empty: as a text, as none, or not at all.
  enum class Absence { Empty, Null, Missing };
  Absence absence = Absence::Empty;
  std::string reasoning = {};  ///< the assistant's thoughts before its content; empty: not said
};

/// How the prompt that a conversation becomes ends.
enum class ChatEnd {
  Reply,     ///< where the assistant's reply begins, as the template's generation prompt has it
  Turn,      ///< behind the last message: nothing asks for a reply
  Continue,  ///< within the last message, the assistant's: what is generated goes on from its content
};

}  // namespace augur
