#include "io/prompt_text.h"

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "io/big_integers.h"

namespace augur {

MarkedText render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                       const std::vector<Message>& messages, bool add_generation_prompt,
                       std::string_view tools) {
  const nlohmann::ordered_json own = {
      {"bos_token", tokenizer.bos ? tokenizer.token_bytes(*tokenizer.bos) : ""},
      {"eos_token", tokenizer.eos.empty() ? "" : tokenizer.token_bytes(tokenizer.eos.front())}};
  auto client = nlohmann::ordered_json::object();
  if (!tools.empty()) {
    client["tools"] = parse_exact_json(tools);
    if (!client["tools"].is_array()) throw Error("tools: expected a JSON list");
  }
  return chat_template.render(messages, add_generation_prompt, client, own);
}

std::vector<TokenId> encode_text(const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
  std::vector<TokenId> ids = encode_part(tokenizer, text, parse_special);
  const bool has_bos = !ids.empty() && tokenizer.bos && ids.front() == *tokenizer.bos;
  if (tokenizer.add_bos && tokenizer.bos && !has_bos) ids.insert(ids.begin(), *tokenizer.bos);
  return ids;
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
