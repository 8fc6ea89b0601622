#pragma once
#include <span>
#include <string_view>

#include "text/tokenizer.h"

namespace augur {

/// GGUF's metadata name one end token, rarely two or three; chat models may end with others, which the
/// model's generation_config.json lists but not every GGUF file does. Control tokens with these texts end a
/// generation, but see keep_messages_in_turns.
std::span<const std::string_view> end_texts();

/// Whether a token with this text is a control token even where a file gives it another type, as some do: it
/// ends turns, and can be taken for nothing else.
bool is_end_of_any_type(std::string_view text);

/// Takes from the tokens that end a generation those that do not in the format at hand. <|end|> ends a
/// message, not the turn, where <|return|> and <|call|> are tokens, too (gpt-oss), or <|flush|> and <|call|>
/// or <|calls|> (Solar Open). </s> is a piece of text where <|tool_response> (Gemma 4) or <|plamo:eos|> ends
/// generations.
void keep_messages_in_turns(Tokenizer& tokenizer);

}  // namespace augur
