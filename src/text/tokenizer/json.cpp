#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>

#include "base/error.h"
#include "files/json_reader.h"
#include "text/tokenizer/bpe_tokenizer.h"
#include "text/tokenizer/config.h"
#include "text/tokenizer/fields.h"
#include "text/tokenizer/from_memory.h"
#include "text/tokenizer/loaders.h"

namespace augur {
namespace {

using nlohmann::json;

bool has(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

/// Whether cutting has a step that writes tokens in the byte alphabet.
bool has_byte_level(const json& value, const std::string& where) {
  if (!value.is_object()) return false;
  const std::string type = string_or(value, "type", "", where);
  if (type == "ByteLevel") return true;
  if (type != "Sequence") return false;
  const json& parts = require_field(value, "pretokenizers", where);
  if (!parts.is_array()) throw Error("{}: pretokenizers: expected an array", where);
  return std::ranges::any_of(parts, [&](const json& part) { return has_byte_level(part, where); });
}

/// The decoder, as far as it says what tokens stand for in running text.
void read_decoder(const json& value, const std::string& where, BpeDefinition& out) {
  if (value.is_null()) return;
  const std::string type = require_string(value, "type", where);
  const std::string here = where + " (" + type + ")";
  if (type == "Sequence") {
    const json& parts = require_field(value, "decoders", here);
    if (!parts.is_array()) throw Error("{}: decoders: expected an array", here);
    for (const json& part : parts) read_decoder(part, here, out);
  } else if (type == "ByteLevel") {
    if (!out.byte_level) throw Error("{}: needs a ByteLevel pre_tokenizer", here);
  } else if (type == "ByteFallback") {
    out.decodes_bytes = true;
  } else if (type == "Metaspace") {
    out.space_character = string_or(value, "replacement", "\xE2\x96\x81", here);
    const char* old_scheme = flag_or(value, "add_prefix_space", true, here) ? "always" : "never";
    out.strips_leading_space = string_or(value, "prepend_scheme", old_scheme, here) != "never";
  } else if (type == "Replace") {
    const PatternField pattern = require_pattern(value, here);
    if (pattern.is_regex || pattern.text.empty() || require_string(value, "content", here) != " ")
      throw Error("{}: only the replacement of one text by a space is supported", here);
    out.space_character = pattern.text;
  } else if (type == "Strip") {
    if (require_string(value, "content", here) != " " || require_integer(value, "start", here) != 1 ||
        require_integer(value, "stop", here) != 0)
      throw Error("{}: only the removal of one leading space is supported", here);
    out.strips_leading_space = true;
  } else if (type != "Fuse") {
    throw Error(ErrorKind::Unsupported, "{}: unknown or unsupported decoder type \"{}\"", where, type);
  }
}

/// The token that the post-processor puts before a single text, if it does.
std::optional<std::string> leading_token(const json& value, const std::string& where) {
  if (value.is_null()) return std::nullopt;
  const std::string type = require_string(value, "type", where);
  const std::string here = where + " (" + type + ")";
  if (type == "Sequence") {
    const json& parts = require_field(value, "processors", here);
    if (!parts.is_array()) throw Error("{}: processors: expected an array", here);
    for (const json& part : parts)
      if (auto token = leading_token(part, here)) return token;
  } else if (type == "TemplateProcessing") {
    const json& single = require_field(value, "single", here);
    if (!single.is_array() || single.empty()) throw Error("{}: single: expected a list of pieces", here);
    if (has(single[0], "SpecialToken")) return require_string(single[0]["SpecialToken"], "id", here);
  } else if (type != "ByteLevel") {
    throw Error(ErrorKind::Unsupported, "{}: unknown or unsupported post_processor type \"{}\"", where, type);
  }
  return std::nullopt;
}

void read_vocabulary(const json& model, const std::string& where, BpeDefinition& out) {
  const json& vocab = require_field(model, "vocab", where);
  if (!vocab.is_object()) throw Error("{}: vocab: expected an object, found {}", where, vocab.type_name());
  out.tokens.reserve(vocab.size());
  for (const auto& [text, id] : vocab.items()) {
    if (!id.is_number_integer()) throw Error("{}: vocab: \"{}\": expected an integer id", where, text);
    out.tokens.push_back({text, id.get<std::int64_t>(), true});
  }
}

void read_merges(const json& model, const std::string& where, BpeDefinition& out) {
  const json& merges = require_field(model, "merges", where);
  if (!merges.is_array()) throw Error("{}: merges: expected an array, found {}", where, merges.type_name());
  out.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const json& merge = merges[i];
    const auto rank = static_cast<std::uint32_t>(i);
    if (merge.is_string()) {
      const std::string_view text = merge.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
        out.merges.push_back({text.substr(0, space), text.substr(space + 1), rank});
        continue;
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      out.merges.push_back(
          {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>(), rank});
      continue;
    }
    throw Error("{}: merges[{}]: expected \"left right\" or [\"left\", \"right\"]", where, i);
  }
}

void read_model(const json& model, const std::string& where, BpeDefinition& out) {
  if (const std::string type = string_or(model, "type", "BPE", where); type != "BPE")
    throw Error(ErrorKind::Unsupported, "{}: type: unsupported tokenizer model \"{}\" (supported: BPE)",
                where, type);
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!string_or(model, affix, "", where).empty())
      throw Error(ErrorKind::Unsupported, "{}: {}: not supported", where, affix);
  if (has(model, "dropout") && model["dropout"] != 0.0)
    throw Error(ErrorKind::Unsupported, "{}: dropout: not supported", where);
  out.byte_fallback = flag_or(model, "byte_fallback", false, where);
  out.ignore_merges = flag_or(model, "ignore_merges", false, where);
  out.fuse_unknown = flag_or(model, "fuse_unk", false, where);
  read_vocabulary(model, where, out);
  read_merges(model, where, out);
  if (const std::string unknown = string_or(model, "unk_token", "", where); !unknown.empty()) {
    const json& vocab = model["vocab"];
    const auto found = vocab.find(unknown);
    if (found == vocab.end()) throw Error("{}: unk_token: \"{}\" is not in the vocabulary", where, unknown);
    out.unknown = found->get<TokenId>();
  }
}

void read_added_tokens(const json& root, const std::string& file, const TokenizerConfig& config,
                       BpeDefinition& out) {
  if (has(root, "added_tokens")) {
    const json& list = root["added_tokens"];
    if (!list.is_array())
      throw Error("{}: added_tokens: expected an array, found {}", file, list.type_name());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string where = file + ": added_tokens[" + std::to_string(i) + "]";
      AddedToken token = read_added_token(list[i], where);
      const std::int64_t id = require_integer(list[i], "id", where);
      if (id < 0 || id > INT32_MAX) throw Error("{}: id: {} is not a token id", where, id);
      token.id = static_cast<TokenId>(id);
      out.added_tokens.push_back(std::move(token));
    }
  }
  std::unordered_set<std::string> own;
  for (const AddedToken& token : out.added_tokens) own.insert(token.content);
  for (const AddedToken& token : config.added_tokens) {
    if (!own.contains(token.content)) out.added_tokens.push_back(token);
  }
}

void set_bos_and_eos(BpeTokenizer& tokenizer, const TokenizerConfig& config,
                     const std::optional<std::string>& leading, const std::string& file) {
  const auto id_of = [&](const std::string& text, const char* field) {
    const auto id = tokenizer.find(text);
    if (!id) throw Error("{}: {}: \"{}\" is not in the vocabulary", file, field, text);
    return *id;
  };
  if (config.bos_token) tokenizer.bos = id_of(*config.bos_token, "bos_token");
  if (leading && !tokenizer.bos) tokenizer.bos = id_of(*leading, "post_processor");
  if (config.eos_token) tokenizer.eos.push_back(id_of(*config.eos_token, "eos_token"));
  tokenizer.add_bos = config.add_bos_token.value_or(leading.has_value()) && tokenizer.bos.has_value();
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_json(const json& content, const std::string& file,
                                               const json& tokenizer_config) {
  if (!content.is_object()) throw Error("{}: expected an object, found {}", file, content.type_name());
  const TokenizerConfig config = TokenizerConfig::read(tokenizer_config);
  const json null;
  const auto component = [&](const char* key) -> const json& {
    const auto found = content.find(key);
    return found == content.end() ? null : *found;
  };

  BpeDefinition definition;
  definition.where = file;
  definition.byte_level = has_byte_level(component("pre_tokenizer"), file + ": pre_tokenizer");
  read_model(require_field(content, "model", file), file + ": model", definition);
  definition.pre_tokenizer = PreTokenizer::from_json(component("pre_tokenizer"), file + ": pre_tokenizer");
  read_decoder(component("decoder"), file + ": decoder", definition);
  read_added_tokens(content, file, config, definition);
  definition.normalizer = Normalizer::from_json(component("normalizer"), file + ": normalizer");
  const auto leading = leading_token(component("post_processor"), file + ": post_processor");

  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(definition));
  set_bos_and_eos(*tokenizer, config, leading, file);
  return tokenizer;
}

std::unique_ptr<Tokenizer> load_tokenizer_json(const std::filesystem::path& tokenizer_json,
                                               const json& tokenizer_config) {
  return tokenizer_from_json(read_json(tokenizer_json), tokenizer_json.string(), tokenizer_config);
}

}  // namespace augur
