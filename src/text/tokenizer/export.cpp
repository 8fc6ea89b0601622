// The layout of tokenizer.json is that of Hugging Face's tokenizers library.
#include "text/tokenizer/export.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"
#include "text/tokenizer/gguf.h"
#include "text/tokenizer/gguf_token_type.h"

namespace augur {

namespace {

using Json = nlohmann::ordered_json;

const GgufPreTokenizerRow& pre_tokenizer(const GgufVocabulary& vocabulary) {
  const GgufPreTokenizerRow* row = find_gguf_pre_tokenizer(vocabulary.pre);
  if (row == nullptr) {
    throw Error("{}: tokenizer.ggml.pre: {:?} cannot be written as tokenizer.json", vocabulary.file,
                vocabulary.pre);
  }
  return *row;
}

using Index = std::unordered_map<std::string_view, std::int32_t>;

Index index_tokens(const GgufVocabulary& vocabulary) {
  Index index;
  index.reserve(vocabulary.tokens.size());
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    if (valid_utf8_prefix(token) != token.size())
      throw Error("{}: token {} is not UTF-8", vocabulary.file, id);
    if (!index.emplace(token, static_cast<std::int32_t>(id)).second) {
      throw Error("{}: token {} ({:?}) occurs twice", vocabulary.file, id, token);
    }
  }
  return index;
}

std::int32_t type_of(const GgufVocabulary& vocabulary, std::size_t id) {
  return vocabulary.token_types.empty() ? 1 : vocabulary.token_types[id];
}

Json added_tokens(const GgufVocabulary& vocabulary) {
  Json result = Json::array();
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const auto type = type_of(vocabulary, id);
    if (type != kUnknown && type != kControl && type != kUserDefined) continue;
    result.push_back({{"id", id},
                      {"content", vocabulary.tokens[id]},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", type != kUserDefined}});
  }
  return result;
}

/// A SentencePiece vocabulary has no merges: every way to cut a piece into two pieces is one, ranked by the
/// piece's score.
Json merges_from_scores(const GgufVocabulary& vocabulary, const Index& index) {
  struct Merge {
    std::int32_t piece, left, right;
  };
  std::vector<Merge> merges;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string_view piece = vocabulary.tokens[id];
    if (type_of(vocabulary, id) != 1 || piece.find(' ') != std::string_view::npos) continue;
    for (std::size_t cut = 1; cut < piece.size(); ++cut) {
      const auto left = index.find(piece.substr(0, cut));
      const auto right = index.find(piece.substr(cut));
      if (left == index.end() || right == index.end()) continue;
      merges.push_back({static_cast<std::int32_t>(id), left->second, right->second});
    }
  }
  const auto rank = [&](const Merge& m) {
    return std::tuple(-vocabulary.scores[static_cast<std::size_t>(m.piece)], m.piece, m.left, m.right);
  };
  std::sort(merges.begin(), merges.end(), [&](const Merge& a, const Merge& b) { return rank(a) < rank(b); });
  Json result = Json::array();
  for (const auto& merge : merges) {
    result.push_back(vocabulary.tokens[static_cast<std::size_t>(merge.left)] + " " +
                     vocabulary.tokens[static_cast<std::size_t>(merge.right)]);
  }
  return result;
}

Json vocab_object(const GgufVocabulary& vocabulary) {
  // ordered_json's own insertion looks for the key in a list: quadratic.
  Json::object_t entries;
  entries.reserve(vocabulary.tokens.size());
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    static_cast<std::vector<Json::object_t::value_type>&>(entries).emplace_back(vocabulary.tokens[id], id);
  }
  return entries;
}

Json bos_post_processor(const GgufVocabulary& vocabulary, bool add_bos) {
  if (!add_bos || !vocabulary.bos) return nullptr;
  const std::string& bos = vocabulary.tokens[static_cast<std::size_t>(*vocabulary.bos)];
  const Json first = {{"SpecialToken", {{"id", bos}, {"type_id", 0}}}};
  const Json second = {{"SpecialToken", {{"id", bos}, {"type_id", 1}}}};
  const Json a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json b = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({first, a})},
          {"pair", Json::array({first, a, second, b})},
          {"special_tokens",
           {{bos, {{"id", bos}, {"ids", Json::array({*vocabulary.bos})}, {"tokens", Json::array({bos})}}}}}};
}

Json byte_level(bool use_regex) {
  return {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

void add_byte_level_parts(const GgufPreTokenizerRow& pre, Json& out) {
  out["normalizer"] = pre.nfc ? Json{{"type", "NFC"}} : Json(nullptr);
  Json steps = Json::array();
  if (pre.single_digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  const bool byte_level_splits = pre.pattern == kGpt2Pattern;
  if (!byte_level_splits) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", pre.pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back(byte_level(byte_level_splits));
  out["pre_tokenizer"] = steps.size() == 1 ? steps[0] : Json{{"type", "Sequence"}, {"pretokenizers", steps}};
}

void add_sentencepiece_parts(bool space_prefix, Json& out) {
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  const Json prepend = {{"type", "Prepend"}, {"prepend", "▁"}};
  out["normalizer"] =
      space_prefix ? Json{{"type", "Sequence"}, {"normalizers", Json::array({prepend, replace})}} : replace;
  out["pre_tokenizer"] = nullptr;
}

Json sentencepiece_decoder(bool space_prefix) {
  Json steps = Json::array({{{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}},
                            {{"type", "ByteFallback"}},
                            {{"type", "Fuse"}}});
  if (space_prefix) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

}  // namespace

nlohmann::ordered_json export_tokenizer_json(const GgufVocabulary& vocabulary, bool add_bos) {
  const bool is_byte_level = vocabulary.model == "gpt2";
  if (!is_byte_level && vocabulary.model != "llama") {
    throw Error("{}: tokenizer.ggml.model: {:?} cannot be written as tokenizer.json", vocabulary.file,
                vocabulary.model);
  }
  const Index index = index_tokens(vocabulary);
  Json out = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  out["added_tokens"] = added_tokens(vocabulary);
  Json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", !is_byte_level},
                {"byte_fallback", !is_byte_level},
                {"ignore_merges", false}};
  if (is_byte_level) {
    const GgufPreTokenizerRow& pre = pre_tokenizer(vocabulary);
    add_byte_level_parts(pre, out);
    out["post_processor"] = bos_post_processor(vocabulary, add_bos);
    if (out["post_processor"].is_null()) out["post_processor"] = byte_level(true);
    out["decoder"] = byte_level(true);
    model["ignore_merges"] = pre.ignore_merges;
    model["vocab"] = vocab_object(vocabulary);
    model["merges"] = vocabulary.merges;
  } else {
    if (vocabulary.scores.empty()) throw Error("{}: tokenizer.ggml.scores is missing", vocabulary.file);
    const bool space_prefix = vocabulary.add_space_prefix.value_or(true);
    add_sentencepiece_parts(space_prefix, out);
    out["post_processor"] = bos_post_processor(vocabulary, add_bos);
    out["decoder"] = sentencepiece_decoder(space_prefix);
    if (vocabulary.unk) model["unk_token"] = vocabulary.tokens[static_cast<std::size_t>(*vocabulary.unk)];
    model["vocab"] = vocab_object(vocabulary);
    model["merges"] = merges_from_scores(vocabulary, index);
  }
  out["model"] = std::move(model);
  return out;
}

nlohmann::ordered_json export_tokenizer_config(const GgufVocabulary& vocabulary, bool add_bos) {
  Json out = {{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"add_bos_token", add_bos},
              {"add_eos_token", false},
              {"clean_up_tokenization_spaces", false}};
  const auto add = [&](const char* key, const std::optional<std::int64_t>& id) {
    if (id) out[key] = vocabulary.tokens[static_cast<std::size_t>(*id)];
  };
  add("bos_token", vocabulary.bos);
  add("eos_token", vocabulary.eos);
  add("unk_token", vocabulary.unk);
  add("pad_token", vocabulary.pad);
  return out;
}

}  // namespace augur
