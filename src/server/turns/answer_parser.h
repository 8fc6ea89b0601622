#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/tools/tool_parser.h"
#include "server/turns/channel_reader.h"
#include "server/turns/thought_tags.h"

namespace augur {

/// Takes an answer apart as it is written: into content, thoughts and calls.
class AnswerParser {
 public:
  AnswerParser() = default;  ///< all of it is content
  /// Calls alone.
  AnswerParser(ToolParser tools) : tools_(std::move(tools)) {}  // NOLINT(google-explicit-constructor)
  /// `tools`: of contents. Where `calls_among_thoughts`, a call counts wherever it stands.
  AnswerParser(ThoughtReader thoughts, std::optional<ToolParser> tools, bool calls_among_thoughts)
      : thoughts_(std::move(thoughts)),
        tools_(std::move(tools)),
        calls_among_thoughts_(calls_among_thoughts) {}
  AnswerParser(ChannelReader channels, std::optional<ToolParser> tools)
      : channels_(std::move(channels)), tools_(std::move(tools)) {}

  std::vector<AnswerPiece> read_text(std::string_view text);
  /// The answer has ended.
  std::vector<AnswerPiece> read_end();
  /// Calls that have begun.
  int calls() const;
  /// Whether a thought has begun and not ended, and no call stands in it.
  bool thinking() const;

 private:
  // At most one of the first two.
  std::optional<ChannelReader> channels_;
  std::optional<ThoughtReader> thoughts_;
  std::optional<ToolParser> tools_;
  bool calls_among_thoughts_ = false;
};

}  // namespace augur
