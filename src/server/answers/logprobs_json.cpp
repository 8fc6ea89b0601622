#include "server/answers/logprobs_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/elementary.h"
#include "base/utf8.h"
#include "server/answers/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

double finite(float logprob) {
  return std::max(static_cast<double>(logprob), -9999.0);
}

ordered_json chat_entry(const Engine& engine, TokenId token, float logprob) {
  const std::string text = engine.token_bytes(token);
  return {{"token", text}, {"logprob", finite(logprob)}, {"bytes", bytes_json(text)}};
}

std::string readable(const Engine& engine, TokenId token) {
  std::string text = engine.token_bytes(token);
  if (valid_utf8_prefix(text) == text.size()) return text;
  std::string escaped = "bytes:";
  for (const char c : text) escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return escaped;
}

/// Characters that begin in these bytes.
std::int64_t characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

}  // namespace

ordered_json llamacpp_logprobs(const Engine& engine, std::span<const TokenId> tokens,
                               std::span<const TokenLogprobs> logprobs, bool as_probabilities) {
  const auto entry = [&](TokenId token, float logprob) {
    ordered_json with_id = {{"id", token}};
    with_id.update(chat_entry(engine, token, logprob));
    if (as_probabilities) {
      with_id.erase("logprob");
      with_id["prob"] = std::min(1.0, elementary::exp(static_cast<double>(logprob)));
    }
    return with_id;
  };
  const char* const list = as_probabilities ? "top_probs" : "top_logprobs";
  ordered_json all = ordered_json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    all.push_back(entry(tokens[i], logprobs[i].logprob));
    ordered_json& top = all.back()[list] = ordered_json::array();
    for (const TokenLogprob& t : logprobs[i].top) top.push_back(entry(t.token, t.logprob));
  }
  return all;
}

ordered_json chat_logprobs(const Engine& engine, std::span<const TokenId> tokens,
                           std::span<const TokenLogprobs> logprobs) {
  ordered_json content = ordered_json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const TokenLogprobs& at = logprobs[i];
    ordered_json entry = chat_entry(engine, tokens[i], at.logprob);
    ordered_json& top = entry["top_logprobs"] = ordered_json::array();
    for (const TokenLogprob& t : at.top) top.push_back(chat_entry(engine, t.token, t.logprob));
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

ordered_json completion_logprobs(const Engine& engine, std::span<const TokenId> tokens,
                                 std::span<const TokenLogprobs> logprobs, std::int64_t& offset) {
  ordered_json texts = ordered_json::array();
  ordered_json own = ordered_json::array();
  ordered_json tops = ordered_json::array();
  ordered_json offsets = ordered_json::array();
  const std::size_t without = tokens.size() - logprobs.size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string text = readable(engine, tokens[i]);
    texts.push_back(text);
    offsets.push_back(offset);
    offset += characters(engine.token_bytes(tokens[i]));
    if (i < without) {
      own.push_back(nullptr);
      tops.push_back(nullptr);
      continue;
    }
    const TokenLogprobs& at = logprobs[i - without];
    own.push_back(finite(at.logprob));
    ordered_json top = ordered_json::object();
    for (const TokenLogprob& t : at.top) top.emplace(readable(engine, t.token), finite(t.logprob));
    top.emplace(text, finite(at.logprob));
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(own)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

}  // namespace augur
