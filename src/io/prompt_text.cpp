#include "io/prompt_text.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace augur {

std::string render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                        const std::vector<Message>& messages, bool add_generation_prompt,
                        std::string_view tools) {
  nlohmann::ordered_json variables = {
      {"bos_token", tokenizer.bos ? tokenizer.token_bytes(*tokenizer.bos) : ""},
      {"eos_token", tokenizer.eos.empty() ? "" : tokenizer.token_bytes(tokenizer.eos.front())}};
  if (!tools.empty()) {
    auto list = nlohmann::ordered_json::parse(tools, nullptr, false);
    if (!list.is_array()) throw Error("tools: expected a JSON list");
    variables["tools"] = std::move(list);
  }
  return chat_template.render(messages, add_generation_prompt, variables);
}

std::vector<TokenId> encode_text(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids = tokenizer.encode(text);
  const bool has_bos = !ids.empty() && tokenizer.bos && ids.front() == *tokenizer.bos;
  if (tokenizer.add_bos && tokenizer.bos && !has_bos) ids.insert(ids.begin(), *tokenizer.bos);
  return ids;
}

}  // namespace augur
