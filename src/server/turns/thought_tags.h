#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/tools/tool_parser.h"

namespace augur {

/// Between which a model writes its thoughts.
struct ThoughtTags {
  std::string_view begin;
  std::string_view end;
};

/// Those that a chat template names; nothing: it knows no thoughts.
std::optional<ThoughtTags> thought_tags(std::string_view chat_template);

/// Whether a text ends within thoughts that have begun in it.
bool ends_in_thought(std::string_view text, const ThoughtTags& tags);

/// Tells the thoughts at an answer's beginning from the rest as it is written. White space around either is
/// dropped. Thoughts that do not end are thoughts; tags elsewhere are content.
class ThoughtReader {
 public:
  /// `begun`: the prompt ends in a thought.
  ThoughtReader(const ThoughtTags& tags, bool begun)
      : tags_(tags), where_(begun ? Where::Thought : Where::Begin) {}

  std::vector<AnswerPiece> read_text(std::string_view text);
  /// The answer has ended.
  std::vector<AnswerPiece> read_end();
  /// Whether thoughts have begun and not ended.
  bool thinking() const { return where_ == Where::Thought; }

 private:
  enum class Where { Begin, Thought, Behind, Content };

  bool advance(bool last, std::vector<AnswerPiece>& to);
  bool advance_thought(bool last, std::vector<AnswerPiece>& to);

  ThoughtTags tags_;
  Where where_;
  bool any_ = false;     ///< thoughts have been told
  std::string pending_;  ///< text that is not understood yet
};

}  // namespace augur
