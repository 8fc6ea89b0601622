#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "text/chat_template.h"

namespace augur {

/// Something for a target to answer.
struct TrainingPrompt {
  std::string source;             ///< "code.jsonl.xz:12"
  std::string domain;             ///< the file's name up to the first dot
  std::vector<Message> messages;  ///< a conversation up to an assistant's turn, or else
  std::string text;               ///< the beginning of a text, which is to be continued
};

/// Reads prompts from JSON lines (plain or .xz) in the forms of a corpus or a prompt file, in the file's
/// order:
///   {"messages": [...]}  without the last assistant turn
///   {"turns": [...]}     the first one
///   {"text": "..."}      its first `text_bytes` bytes, cut at a line or word's end
/// Stops when `take` returns false. Error naming file and line for anything else.
void read_training_prompts(const std::filesystem::path& file, std::int64_t text_bytes,
                           const std::function<bool(TrainingPrompt)>& take);

}  // namespace augur
