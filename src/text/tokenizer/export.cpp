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

/// Merges as pairs, as tokens with spaces need them.
Json pairs_of(const std::vector<std::string>& merges) {
  Json result = Json::array();
  for (const std::string& merge : merges) {
    const std::size_t space = std::min(merge.find(' ', 1), merge.size());
    result.push_back(Json::array({merge.substr(0, space), merge.substr(std::min(space + 1, merge.size()))}));
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

Json byte_level_step(bool use_regex) {
  return {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

void add_cutting_parts(const GgufPreTokenizerRow& pre, Json& out) {
  Json steps = Json::array();
  const bool byte_level = pre.letters == GgufPreTokenizerRow::Letters::Bytes;
  const bool byte_level_splits = byte_level && pre.steps.back() == kGpt2Pattern;
  for (const std::string_view pattern : byte_level_splits ? pre.steps.first(pre.steps.size() - 1) : pre.steps)
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  if (byte_level) steps.push_back(byte_level_step(byte_level_splits));
  out["pre_tokenizer"] = steps.size() == 1 ? steps[0] : Json{{"type", "Sequence"}, {"pretokenizers", steps}};
  out["normalizer"] = pre.nfc ? Json{{"type", "NFC"}} : Json(nullptr);
}

Json escaped_spaces() {
  return {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
}

void add_sentencepiece_parts(bool space_prefix, Json& out) {
  const Json prepend = {{"type", "Prepend"}, {"prepend", "▁"}};
  out["normalizer"] =
      space_prefix ? Json{{"type", "Sequence"}, {"normalizers", Json::array({prepend, escaped_spaces()})}}
                   : escaped_spaces();
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
  const bool has_merges = has_gguf_merges(vocabulary.model);
  if (!has_merges && vocabulary.model != "llama") {
    throw Error("{}: tokenizer.ggml.model: {:?} cannot be written as tokenizer.json", vocabulary.file,
                vocabulary.model);
  }
  const GgufPreTokenizerRow* pre =
      has_merges ? &gguf_pre_tokenizer(vocabulary.model, vocabulary.pre, vocabulary.file) : nullptr;
  const bool is_byte_level = has_merges && pre->letters == GgufPreTokenizerRow::Letters::Bytes;
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
  const Json post_processor = bos_post_processor(vocabulary, add_bos);
  out["post_processor"] = is_byte_level && post_processor.is_null() ? byte_level_step(true) : post_processor;
  if (vocabulary.unk && !is_byte_level)
    model["unk_token"] = vocabulary.tokens[static_cast<std::size_t>(*vocabulary.unk)];
  if (has_merges) {
    add_cutting_parts(*pre, out);
    if (pre->letters == GgufPreTokenizerRow::Letters::Escaped) out["normalizer"] = escaped_spaces();
    out["decoder"] = is_byte_level ? byte_level_step(true) : sentencepiece_decoder(false);
    model["ignore_merges"] = pre->ignore_merges;
    model["vocab"] = vocab_object(vocabulary);
    model["merges"] = is_byte_level ? Json(vocabulary.merges) : pairs_of(vocabulary.merges);
  } else {
    if (vocabulary.scores.empty()) throw Error("{}: tokenizer.ggml.scores is missing", vocabulary.file);
    const bool space_prefix = vocabulary.add_space_prefix.value_or(true);
    add_sentencepiece_parts(space_prefix, out);
    out["decoder"] = sentencepiece_decoder(space_prefix);
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
