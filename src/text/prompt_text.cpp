#include "text/prompt_text.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/local_time.h"
#include "base/utf8.h"
#include "files/big_integers.h"

namespace augur {

namespace {

/// A client's own, by its text.
nlohmann::ordered_json client_variables(const ChatText& chat) {
  auto client = nlohmann::ordered_json::object();
  if (!chat.kwargs.empty()) client = parse_template_kwargs(chat.kwargs);
  if (!chat.tools.empty()) {
    client["tools"] = parse_exact_json(chat.tools);
    if (!client["tools"].is_array()) throw Error(refused("tools"), "tools: expected a JSON list");
  }
  return client;
}

/// Those that are not a client's.
nlohmann::ordered_json own_variables(const ChatText& chat, const Tokenizer& tokenizer) {
  auto own = nlohmann::ordered_json::object();
  if (chat.date) {
    const std::time_t now = std::time(nullptr);
    own["date_string"] = local_time(now, "%d %b %Y");
    own["datetime"] = local_time(now, "%b %d %Y");
  }
  own["bos_token"] = tokenizer.bos ? tokenizer.token_bytes(*tokenizer.bos) : "";
  own["eos_token"] = tokenizer.eos.empty() ? "" : tokenizer.token_bytes(tokenizer.eos.front());
  if (!chat.own_kwargs.empty()) own.update(parse_template_kwargs(chat.own_kwargs));
  return own;
}

/// The assistant's last message is to go on.
void check_continued(const std::vector<Message>& messages) {
  if (messages.empty() || messages.back().role != "assistant")
    throw Error(refused("messages"), "the last message is not the assistant's, so it cannot be continued");
  if (!messages.back().tool_calls.empty())
    throw Error(refused("messages"), "the last message calls functions, so it cannot be continued");
  if (!messages.back().reasoning.empty())
    throw Error(refused("messages"), "the last message has reasoning_content, so it cannot be continued");
  if (messages.size() > 1 && messages[messages.size() - 2].role == "assistant")
    throw Error(refused("messages"),
                "the last two messages are the assistant's: expected one that can be continued");
}

}  // namespace

nlohmann::ordered_json parse_template_kwargs(std::string_view kwargs) {
  auto variables = parse_exact_json(kwargs);
  if (!variables.is_object())
    throw Error(refused("template_kwargs"), "chat_template_kwargs: expected a JSON object");
  for (const char* const name : {"messages", "tools", "add_generation_prompt"}) {
    if (variables.contains(name))
      throw Error(refused("template_kwargs"), "chat_template_kwargs.{}: say it in the request itself", name);
  }
  return variables;
}

MarkedText render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const ChatText& chat) {
  const nlohmann::ordered_json own = own_variables(chat, tokenizer);
  const nlohmann::ordered_json client = client_variables(chat);
  if (chat.end != ChatEnd::Continue)
    return chat_template.render(chat.messages, chat.end == ChatEnd::Reply, client, own);
  check_continued(chat.messages);
  const std::vector<Message> before(chat.messages.begin(), chat.messages.end() - 1);
  MarkedText text = chat_template.render(before, true, client, own);
  text.text += chat_template.content_header();
  const std::string content = to_valid_utf8(chat.messages.back().content);
  if (content.empty()) return text;
  const std::size_t begin = text.text.size();
  text.text += content;
  if (!text.client.empty() && text.client.back().end == begin) {
    text.client.back().end = text.text.size();
  } else {
    text.client.push_back({begin, text.text.size()});
  }
  return text;
}

MarkedText render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                       const std::vector<Message>& messages, bool add_generation_prompt) {
  return render_chat(chat_template, tokenizer,
                     {.messages = messages, .end = add_generation_prompt ? ChatEnd::Reply : ChatEnd::Turn});
}

std::vector<TokenId> encode_text(const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
  std::vector<TokenId> ids = encode_part(tokenizer, text, parse_special);
  begin_text(tokenizer, ids);
  return ids;
}

void begin_text(const Tokenizer& tokenizer, std::vector<TokenId>& ids) {
  const bool has_bos = !ids.empty() && tokenizer.bos && ids.front() == *tokenizer.bos;
  if (tokenizer.add_bos && tokenizer.bos && !has_bos) ids.insert(ids.begin(), *tokenizer.bos);
}

std::vector<TokenId> encode_part(const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
  const ByteRange all{0, text.size()};
  return tokenizer.encode(text,
                          parse_special || text.empty() ? std::span<const ByteRange>() : std::span(&all, 1));
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const MarkedText& chat) {
  return tokenizer.encode(chat.text, chat.client);
}

}  // namespace augur
