#pragma once
#include <string>
#include <vector>

namespace augur {
inline namespace abi1 {

/// A function call that the model asks for.
struct ToolCall {
  std::string id;  ///< id by which the answering message refers to it
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
  /// How a template sees empty content: as an empty text, as null, or as a missing field.
  enum class Absence { Empty, Null, Missing };
  Absence absence = Absence::Empty;
  std::string reasoning = {};  ///< the assistant's reasoning before its content; empty: none
};

/// How the prompt of a conversation ends.
enum class ChatEnd {
  Reply,     ///< where the assistant's reply begins, as the template's generation prompt has it
  Turn,      ///< after the last message, without a generation prompt
  Continue,  ///< within the last message, the assistant's: the generated text continues its content
};

}  // namespace abi1
}  // namespace augur
