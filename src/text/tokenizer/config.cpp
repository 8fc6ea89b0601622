#include "text/tokenizer/config.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {
namespace {

using nlohmann::json;

constexpr const char* kFile = "tokenizer_config.json";

const json* find(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> read_flag(const json& object, const char* key, const std::string& where) {
  const json* value = find(object, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean())
    throw Error("{}: {}: expected true or false, found {}", where, key, value->type_name());
  return value->get<bool>();
}

// A token is written as its text or as an object with the text in `content`.
std::optional<std::string> read_token(const json& config, const char* key) {
  const json* value = find(config, key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) value = find(*value, "content");
  if (value == nullptr || !value->is_string()) throw Error("{}: {}: expected a string", kFile, key);
  return value->get<std::string>();
}

}  // namespace

AddedToken read_added_token(const json& value, const std::string& where) {
  if (!value.is_object()) throw Error("{}: expected an object, found {}", where, value.type_name());
  const json* content = find(value, "content");
  if (content == nullptr || !content->is_string()) throw Error("{}: content: expected a string", where);
  AddedToken token;
  token.content = content->get<std::string>();
  token.special = read_flag(value, "special", where).value_or(false);
  token.lstrip = read_flag(value, "lstrip", where).value_or(false);
  token.rstrip = read_flag(value, "rstrip", where).value_or(false);
  token.single_word = read_flag(value, "single_word", where).value_or(false);
  token.normalized = read_flag(value, "normalized", where).value_or(!token.special);
  return token;
}

TokenizerConfig TokenizerConfig::read(const json& config) {
  TokenizerConfig out;
  if (config.is_null()) return out;
  if (!config.is_object()) throw Error("{}: expected an object, found {}", kFile, config.type_name());
  out.bos_token = read_token(config, "bos_token");
  out.eos_token = read_token(config, "eos_token");
  out.add_bos_token = read_flag(config, "add_bos_token", kFile);
  out.add_prefix_space = read_flag(config, "add_prefix_space", kFile);
  out.legacy = read_flag(config, "legacy", kFile);
  if (const json* decoder = find(config, "added_tokens_decoder")) {
    if (!decoder->is_object()) throw Error("{}: added_tokens_decoder: expected an object", kFile);
    for (const auto& [key, value] : decoder->items()) {
      const std::string where = std::string(kFile) + ": added_tokens_decoder." + key;
      AddedToken token = read_added_token(value, where);
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token.id);
      if (error != std::errc() || end != key.data() + key.size() || token.id < 0)
        throw Error("{}: expected a token id as key", where);
      out.added_tokens.push_back(std::move(token));
    }
  }
  return out;
}

}  // namespace augur
