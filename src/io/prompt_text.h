#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/chat_template.h"
#include "io/tokenizer.h"

namespace augur {

/// A conversation as the model's template writes it, with the tokenizer's `bos_token` and `eos_token`.
/// `tools`: a JSON list in OpenAI's form; empty: none. Errors are ChatTemplate::render's, and for tools that
/// are no list.
std::string render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                        const std::vector<Message>& messages, bool add_generation_prompt,
                        std::string_view tools = {});

/// Running text as the model expects it: BOS comes first where the tokenizer asks for it and the text does
/// not bring it. A rendered conversation is not such a text: there BOS is the template's business.
std::vector<TokenId> encode_text(const Tokenizer& tokenizer, std::string_view text);

}  // namespace augur
