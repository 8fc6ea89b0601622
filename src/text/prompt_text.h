#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template.h"
#include "text/marked_text.h"
#include "text/tokenizer.h"

namespace augur {

/// A conversation, and how it is to be written.
struct ChatText {
  const std::vector<Message>& messages;
  std::string_view tools = {};   ///< a JSON list in OpenAI's form; empty: none
  std::string_view kwargs = {};  ///< a client's further variables: a JSON object; empty: none
  ChatEnd end = ChatEnd::Reply;
  /// Variables in the same form that are the user's own, as the template is; a client's go before them.
  std::string_view own_kwargs = {};
  /// Today's date as llama.cpp gives it to templates, before all others: `date_string` ("26 Jul 2024") and
  /// `datetime` ("Jul 26 2024").
  bool date = false;
};

/// Further variables of a template. Error for what is no JSON object, and for names that a request has fields
/// for (`messages`, `tools`, `add_generation_prompt`).
nlohmann::ordered_json parse_template_kwargs(std::string_view kwargs);

/// A conversation as the model's template writes it, with the tokenizer's `bos_token` and `eos_token`. What
/// comes from messages, tools and kwargs, but not from own_kwargs, is marked as a client's. To continue a
/// message is to write those before it, as for a reply, and its content behind. Errors are
/// ChatTemplate::render's, and for tools that are no list, kwargs that are no object, and a message to be
/// continued that is not the assistant's, calls functions or has reasoning.
MarkedText render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const ChatText& chat);
/// The same of messages alone.
MarkedText render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                       const std::vector<Message>& messages, bool add_generation_prompt);

/// Running text as the model expects it: BOS comes first where the tokenizer asks for it and the text does
/// not bring it. A rendered conversation is not such a text: there BOS is the template's business.
/// `parse_special`: the text's control tokens are tokens, otherwise they are text.
std::vector<TokenId> encode_text(const Tokenizer& tokenizer, std::string_view text,
                                 bool parse_special = true);
/// The same without a beginning of sequence.
std::vector<TokenId> encode_part(const Tokenizer& tokenizer, std::string_view text,
                                 bool parse_special = true);
/// Puts BOS in front where the tokenizer asks for it and it is not there.
void begin_text(const Tokenizer& tokenizer, std::vector<TokenId>& ids);
/// A rendered conversation: control tokens are the template's only.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const MarkedText& chat);

}  // namespace augur
