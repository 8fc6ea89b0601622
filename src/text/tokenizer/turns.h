#pragma once
#include "text/tokenizer.h"

namespace augur {

/// Takes <|end|> from the tokens that end a generation where <|return|> and <|call|> are tokens, too: in
/// gpt-oss's format it ends a message, and the turn goes on with the next one, up to one of these two.
void keep_messages_in_turns(Tokenizer& tokenizer);

}  // namespace augur
