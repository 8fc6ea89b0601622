#include "text/tokenizer/gguf.h"

#include <algorithm>

#include "base/error.h"
#include "text/tokenizer/bpe_tokenizer.h"
#include "text/tokenizer/gguf_token_type.h"
#include "text/tokenizer/loaders.h"
#include "text/tokenizer/spm_merges.h"
#include "text/tokenizer/turns.h"

namespace augur {
namespace {

std::int32_t type_of(const GgufVocabulary& vocabulary, std::size_t id) {
  if (is_end_of_any_type(vocabulary.tokens[id])) return kControl;
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

/// How tokens are written says what ordinary text is made of, and what a token stands for in running text.
void set_letters(const GgufPreTokenizerRow& row, BpeDefinition& out) {
  std::vector<Normalizer::Step> steps;
  if (row.nfc) steps.emplace_back(NormalForm::Nfc);
  out.byte_level = row.letters == GgufPreTokenizerRow::Letters::Bytes;
  if (out.byte_level) {
    out.unknown.reset();  // every byte has a token, or is left out
  } else {
    out.byte_fallback = out.decodes_bytes = true;
  }
  if (row.letters == GgufPreTokenizerRow::Letters::Escaped) {
    out.space_character = kSpmSpace;
    steps.emplace_back(Normalizer::Replace{std::nullopt, " ", std::string(kSpmSpace)});
  }
  out.normalizer = Normalizer(std::move(steps));
}

std::unique_ptr<BpeTokenizer> load_with_merges(const GgufVocabulary& vocabulary) {
  const GgufPreTokenizerRow& row = gguf_pre_tokenizer(vocabulary.model, vocabulary.pre, vocabulary.file);
  BpeDefinition definition = tokens_of(vocabulary);
  set_letters(row, definition);
  definition.ignore_merges = row.ignore_merges;
  definition.pre_tokenizer = make_pre_tokenizer(row, vocabulary.file + ": tokenizer.ggml.pre");
  definition.merges.reserve(vocabulary.merges.size());
  for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
    const std::string_view merge = vocabulary.merges[i];
    const std::size_t space = merge.find(' ', 1);  // the left one is not empty
    if (space == std::string_view::npos)
      throw Error("{}: tokenizer.ggml.merges[{}]: expected \"left right\"", vocabulary.file, i);
    definition.merges.push_back(
        {merge.substr(0, space), merge.substr(space + 1), static_cast<std::uint32_t>(i)});
  }
  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(definition));
  tokenizer->add_bos = row.add_bos;
  return tokenizer;
}

std::unique_ptr<BpeTokenizer> load_sentencepiece_bpe(const GgufVocabulary& vocabulary) {
  if (vocabulary.scores.empty())
    throw Error("{}: tokenizer.ggml.scores: missing, but model \"{}\" needs them", vocabulary.file,
                vocabulary.model);
  if (std::any_of(vocabulary.scores.begin(), vocabulary.scores.end(), [](float s) { return s != s; }))
    throw Error("{}: tokenizer.ggml.scores: not a number", vocabulary.file);
  BpeDefinition definition = tokens_of(vocabulary);
  definition.byte_fallback = true;
  set_spm_conventions(vocabulary.add_space_prefix.value_or(true), true, definition);
  std::vector<ScoredPiece> pieces;
  pieces.reserve(vocabulary.tokens.size());
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    pieces.push_back({vocabulary.tokens[id], vocabulary.scores[id], definition.tokens[id].normal});
  add_score_merges(pieces, vocabulary.file + ": tokenizer.ggml.tokens", definition);
  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(definition));
  tokenizer->add_bos = true;
  return tokenizer;
}

void set_bos_and_eos(const GgufVocabulary& vocabulary, BpeTokenizer& tokenizer) {
  if (vocabulary.bos) tokenizer.bos = static_cast<TokenId>(*vocabulary.bos);
  const auto add_eos = [&](TokenId id) {
    if (std::find(tokenizer.eos.begin(), tokenizer.eos.end(), id) == tokenizer.eos.end())
      tokenizer.eos.push_back(id);
  };
  if (vocabulary.eos) add_eos(static_cast<TokenId>(*vocabulary.eos));
  if (vocabulary.eot) add_eos(static_cast<TokenId>(*vocabulary.eot));
  for (const auto& id : {vocabulary.fim_pad, vocabulary.fim_repository, vocabulary.fim_file})
    if (id) add_eos(static_cast<TokenId>(*id));
  for (const std::string_view text : end_texts())
    if (const auto id = tokenizer.find(text); id && tokenizer.is_special(*id)) add_eos(*id);
  tokenizer.add_bos = vocabulary.add_bos.value_or(tokenizer.add_bos) && tokenizer.bos.has_value();
}

void set_infill(const GgufVocabulary& vocabulary, InfillTokens& to) {
  const auto set = [](const std::optional<std::int64_t>& id, std::optional<TokenId>& token) {
    if (id) token = static_cast<TokenId>(*id);
  };
  set(vocabulary.fim_prefix, to.prefix);
  set(vocabulary.fim_suffix, to.suffix);
  set(vocabulary.fim_middle, to.middle);
  set(vocabulary.fim_repository, to.repository);
  set(vocabulary.fim_file, to.file);
}

}  // namespace

std::unique_ptr<Tokenizer> load_gguf_tokenizer(const GgufVocabulary& vocabulary) {
  std::unique_ptr<BpeTokenizer> tokenizer;
  if (has_gguf_merges(vocabulary.model)) {
    tokenizer = load_with_merges(vocabulary);
  } else if (vocabulary.model == "llama") {
    tokenizer = load_sentencepiece_bpe(vocabulary);
  } else {
    throw Error(ErrorKind::Unsupported,
                "{}: tokenizer.ggml.model: unsupported tokenizer \"{}\" (supported: gpt2, llama, gemma4)",
                vocabulary.file, vocabulary.model);
  }
  set_bos_and_eos(vocabulary, *tokenizer);
  set_infill(vocabulary, tokenizer->infill);
  return tokenizer;
}

}  // namespace augur
