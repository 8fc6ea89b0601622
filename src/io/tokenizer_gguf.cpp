#include "io/tokenizer_gguf.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "io/bpe_tokenizer.h"
#include "io/tokenizer_loaders.h"
#include "io/unicode.h"

namespace augur {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581
constexpr std::size_t kLongestMergedToken = 1024;    // bytes; every way to cut a token in two is looked up

enum TokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

std::int32_t type_of(const GgufVocabulary& vocabulary, std::size_t id) {
  return vocabulary.token_types.empty() ? kNormal : vocabulary.token_types[id];
}

BpeDefinition tokens_of(const GgufVocabulary& vocabulary) {
  if (vocabulary.tokens.empty()) throw Error("{}: tokenizer.ggml.tokens: missing or empty", vocabulary.file);
  BpeDefinition out;
  out.where = vocabulary.file;
  out.tokens.reserve(vocabulary.tokens.size());
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::int32_t type = type_of(vocabulary, id);
    const bool control = type == kControl || type == kUnknown;
    out.tokens.push_back(
        {vocabulary.tokens[id], static_cast<std::int64_t>(id), type == kNormal || type == kUserDefined});
    if (!control && type != kUserDefined) continue;
    AddedToken token;
    token.content = vocabulary.tokens[id];
    token.id = static_cast<TokenId>(id);
    token.special = control;
    out.added_tokens.push_back(std::move(token));
  }
  if (vocabulary.unk) out.unknown = static_cast<TokenId>(*vocabulary.unk);
  return out;
}

std::unique_ptr<BpeTokenizer> load_byte_level(const GgufVocabulary& vocabulary) {
  GgufPreTokenizer pre = gguf_pre_tokenizer(vocabulary.pre, vocabulary.file);
  BpeDefinition definition = tokens_of(vocabulary);
  definition.byte_level = true;
  definition.unknown.reset();  // every byte has a token, or is left out
  definition.ignore_merges = pre.ignore_merges;
  definition.normalizer = std::move(pre.normalizer);
  definition.pre_tokenizer = std::move(pre.pre_tokenizer);
  definition.merges.reserve(vocabulary.merges.size());
  for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
    const std::string_view merge = vocabulary.merges[i];
    const std::size_t space = merge.find(' ');
    if (space == std::string_view::npos)
      throw Error("{}: tokenizer.ggml.merges[{}]: expected \"left right\"", vocabulary.file, i);
    definition.merges.push_back(
        {merge.substr(0, space), merge.substr(space + 1), static_cast<std::uint32_t>(i)});
  }
  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(definition));
  tokenizer->add_bos = pre.add_bos;
  return tokenizer;
}

// SentencePiece joins any two neighbours whose concatenation is a token, the best score first. As rules:
// every way to cut a token into two symbols, ranked by the token's score.
void add_score_merges(const GgufVocabulary& vocabulary, BpeDefinition& out) {
  const auto mergeable = [&](std::size_t id) {
    const std::int32_t type = type_of(vocabulary, id);
    return type == kNormal || type == kUserDefined;
  };
  std::vector<std::size_t> order;
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!mergeable(id)) continue;
    if (vocabulary.tokens[id].size() > kLongestMergedToken)
      throw Error("{}: tokenizer.ggml.tokens[{}]: {} bytes long, at most {} are supported", vocabulary.file,
                  id, vocabulary.tokens[id].size(), kLongestMergedToken);
    if (ids.emplace(vocabulary.tokens[id], id).second) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return vocabulary.scores[a] > vocabulary.scores[b]; });
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && vocabulary.scores[order[i]] != vocabulary.scores[order[i - 1]]) ++rank;
    const std::string_view token = vocabulary.tokens[order[i]];
    const std::size_t first = token.empty() ? 0 : decode_utf8(token, 0).length;
    for (std::size_t cut = first; cut < token.size(); cut += decode_utf8(token, cut).length) {
      const std::string_view left = token.substr(0, cut);
      const std::string_view right = token.substr(cut);
      const bool left_known = cut == first || ids.contains(left);
      const bool right_known = cut + decode_utf8(token, cut).length == token.size() || ids.contains(right);
      if (left_known && right_known) out.merges.push_back({left, right, rank});
    }
  }
}

std::unique_ptr<BpeTokenizer> load_sentencepiece_bpe(const GgufVocabulary& vocabulary) {
  if (vocabulary.scores.empty())
    throw Error("{}: tokenizer.ggml.scores: missing, but model \"{}\" needs them", vocabulary.file,
                vocabulary.model);
  if (std::any_of(vocabulary.scores.begin(), vocabulary.scores.end(), [](float s) { return s != s; }))
    throw Error("{}: tokenizer.ggml.scores: not a number", vocabulary.file);
  BpeDefinition definition = tokens_of(vocabulary);
  definition.byte_fallback = definition.decodes_bytes = true;
  definition.merges_unknown_characters = true;
  definition.space_character = kSpace;
  std::vector<Normalizer::Step> steps;
  if (vocabulary.add_space_prefix.value_or(true)) {
    steps.emplace_back(Normalizer::Prepend{" "});
    definition.strips_leading_space = true;
  }
  steps.emplace_back(Normalizer::Replace{std::nullopt, " ", std::string(kSpace)});
  definition.normalizer = Normalizer(std::move(steps));
  add_score_merges(vocabulary, definition);
  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(definition));
  tokenizer->add_bos = true;
  return tokenizer;
}

// The metadata names one end token, rarely two; chat models may end with others, which the model's
// generation_config.json lists but GGUF does not hold. These texts, as control tokens, always end a turn.
constexpr std::array<std::string_view, 8> kEndTokens = {"<|im_end|>",
                                                        "<|eot_id|>",
                                                        "<|eom_id|>",
                                                        "<|endoftext|>",
                                                        "<|end_of_text|>",
                                                        "<|end|>",
                                                        "<end_of_turn>",
                                                        "<\xEF\xBD\x9C"
                                                        "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"};

void set_bos_and_eos(const GgufVocabulary& vocabulary, BpeTokenizer& tokenizer) {
  if (vocabulary.bos) tokenizer.bos = static_cast<TokenId>(*vocabulary.bos);
  const auto add_eos = [&](TokenId id) {
    if (std::find(tokenizer.eos.begin(), tokenizer.eos.end(), id) == tokenizer.eos.end())
      tokenizer.eos.push_back(id);
  };
  if (vocabulary.eos) add_eos(static_cast<TokenId>(*vocabulary.eos));
  if (vocabulary.eot) add_eos(static_cast<TokenId>(*vocabulary.eot));
  for (const std::string_view text : kEndTokens)
    if (const auto id = tokenizer.find(text); id && tokenizer.is_special(*id)) add_eos(*id);
  tokenizer.add_bos = vocabulary.add_bos.value_or(tokenizer.add_bos) && tokenizer.bos.has_value();
}

}  // namespace

std::unique_ptr<Tokenizer> load_gguf_tokenizer(const GgufVocabulary& vocabulary) {
  std::unique_ptr<BpeTokenizer> tokenizer;
  if (vocabulary.model == "gpt2") {
    tokenizer = load_byte_level(vocabulary);
  } else if (vocabulary.model == "llama") {
    tokenizer = load_sentencepiece_bpe(vocabulary);
  } else {
    throw Error("{}: tokenizer.ggml.model: unsupported tokenizer \"{}\" (supported: gpt2, llama)",
                vocabulary.file, vocabulary.model);
  }
  set_bos_and_eos(vocabulary, *tokenizer);
  return tokenizer;
}

}  // namespace augur
