#pragma once
#include <optional>

#include "augur/engine.h"
#include "server/fields/thought_fields.h"
#include "server/tools/offered_tools.h"
#include "server/turns/answer_parser.h"

namespace augur {

/// Writes tools (offer_tools) and wishes into the request's conversation, before it becomes a prompt.
std::optional<ToolParser> prepare_chat(const Engine& engine, const OfferedTools& offered,
                                       const ThoughtWishes& wishes, Request& request);

/// Makes the request's conversation its prompt, as prepare_chat() and tokenize_prompt() do, and gives what
/// takes the answer apart. Thoughts are bounded as the request wishes; a grammar holds for what follows those
/// that the prompt begins, and for the channel final. BadRequest as theirs.
AnswerParser begin_chat(const Engine& engine, const OfferedTools& offered, const ThoughtWishes& wishes,
                        Request& request);

}  // namespace augur
