#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "augur/message.h"
#include "augur/template_limits.h"
#include "text/marked_text.h"

namespace augur {

/// A model's Jinja chat template, parsed once. The interpreter covers the constructs that published templates
/// use; anything else is an Error that names the construct and its line, for a filter or test not before it
/// is reached. Output and evaluation steps are bounded, so a hostile template cannot hang or exhaust memory.
/// Immutable, thread-safe. Own code: Jinja libraries for C++ bound neither, and know nothing of marks.
///
/// A rendering tells which of its bytes are a client's: every byte of the client's variables keeps its mark
/// through expressions, filters, macros and loops, and where a filter cannot tell (escapes of JSON, repr) the
/// whole string is marked. Digits of numbers, and roles, which are compared with a list, are not.
class ChatTemplate {
 public:
  /// Parses; Error names construct and line.
  explicit ChatTemplate(std::string_view source, const TemplateLimits& limits = {});
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  /// Renders with `messages`, `add_generation_prompt`, the variables that a client gave (null or an object),
  /// and `own` ones (the same), which a client's variables of those names replace. A template's
  /// raise_exception() becomes an Error with its message; so does a role other than the four of Message,
  /// which some templates would silently leave out. A message has the keys that Hugging Face's conversations
  /// have: reasoning_content (thinking, too, where the template reads that), tool_calls, with their arguments
  /// as objects, tool_call_id and name where they are given; content is none or missing where
  /// Message::absence says so. A template that has no rendering for content that is none gets an empty text
  /// in its place.
  MarkedText render(const std::vector<Message>& messages, bool add_generation_prompt,
                    const nlohmann::ordered_json& client, const nlohmann::ordered_json& own) const;
  /// The same with every variable given, so that messages can hold what Message does not. `tools` and
  /// `documents` are none where they are not given.
  MarkedText render(const nlohmann::ordered_json& client, const nlohmann::ordered_json& own) const;

  /// What the template writes between the generation prompt and a reply's content; empty: nothing.
  std::string_view content_header() const;

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace augur
