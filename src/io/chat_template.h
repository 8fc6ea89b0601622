#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/message.h"

namespace augur {

/// A model's Jinja chat template, parsed once. The interpreter covers the constructs that published templates
/// use; anything else is an Error that names the construct and its line. Output and evaluation steps are
/// bounded, so a hostile template cannot hang or exhaust memory. Immutable, thread-safe. Own code: Jinja
/// libraries for C++ bound neither.
class ChatTemplate {
 public:
  /// Parses; Error names construct and line.
  explicit ChatTemplate(std::string_view source);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  /// Renders with `messages`, `add_generation_prompt`, and `bos_token`, `eos_token` and further variables
  /// from `extra` (a JSON object). A template's raise_exception() becomes an Error with its message; so does
  /// a role other than the four of Message, which some templates would silently leave out. A message has the
  /// keys that Hugging Face's conversations have: tool_calls, with their arguments as objects, tool_call_id
  /// and name where they are given; content is none where an assistant only calls tools.
  std::string render(const std::vector<Message>& messages, bool add_generation_prompt,
                     const nlohmann::ordered_json& extra) const;
  /// The same with every variable given, so that messages can hold what Message does not. `tools` and
  /// `documents` are none where they are not given.
  std::string render(const nlohmann::ordered_json& variables) const;

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace augur
