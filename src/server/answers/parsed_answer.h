#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/engine.h"
#include "augur/message.h"
#include "server/turns/answer_parser.h"

namespace augur {

/// An answer, taken apart.
struct ParsedAnswer {
  std::string content;
  std::string thoughts;
  std::vector<ToolCall> calls;  ///< the last one's arguments may break off
};

ParsedAnswer parse_answer(AnswerParser parser, std::string_view text);

/// How many of an answer's tokens are thoughts, what ends them included. `parser`: at its beginning.
std::int64_t count_thought_tokens(AnswerParser parser, const Engine& engine, std::span<const TokenId> tokens);

/// By which a call is known: nine letters and digits, which is what Mistral's templates demand.
std::string new_call_id();

}  // namespace augur
