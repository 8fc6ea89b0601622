#pragma once
#include "augur/engine.h"
#include "server/tools/offered_tools.h"
#include "server/turns/answer_parser.h"

namespace augur {

/// What a request says of the model's thoughts.
struct ThoughtWishes {
  bool as_content = false;  ///< they stay in the content, with their tags
};

/// Makes the request's conversation its prompt, as offer_tools() and tokenize_prompt() do, and gives what
/// takes the answer apart. BadRequest as theirs.
AnswerParser begin_chat(const Engine& engine, const OfferedTools& offered, const ThoughtWishes& wishes,
                        Request& request);

}  // namespace augur
