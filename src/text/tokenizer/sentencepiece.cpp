#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/mapped_file.h"
#include "text/tokenizer/bpe_tokenizer.h"
#include "text/tokenizer/config.h"
#include "text/tokenizer/from_memory.h"
#include "text/tokenizer/loaders.h"
#include "text/tokenizer/spm_merges.h"
#include "text/tokenizer/spm_model.h"

namespace augur {
namespace {

using PieceType = SpmModel::PieceType;

// Every model family that this project runs has the same kind of SentencePiece model; the library's others
// are refused rather than half done.
void check_supported(const SpmModel& model, const std::string& file) {
  const auto refuse = [&](const char* what) {
    throw Error(ErrorKind::Unsupported, "{}: {} is not supported", file, what);
  };
  if (!model.is_bpe) refuse("trainer_spec.model_type other than BPE");
  if (model.whitespace_as_suffix) refuse("trainer_spec.treat_whitespace_as_suffix");
  if (model.has_character_map)
    refuse("normalizer_spec.precompiled_charsmap (a normalisation other than identity)");
  if (model.remove_extra_whitespaces) refuse("normalizer_spec.remove_extra_whitespaces");
  if (!model.escape_whitespaces) refuse("normalizer_spec.escape_whitespaces = false");
}

void add_pieces(const SpmModel& model, BpeDefinition& out) {
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const SpmModel::Piece& piece = model.pieces[i];
    const auto id = static_cast<TokenId>(i);
    const bool special = piece.type == PieceType::Control || piece.type == PieceType::Unknown;
    out.tokens.push_back({std::string(piece.text), id, piece.type == PieceType::Normal});
    if (piece.type == PieceType::Unknown) out.unknown = id;
    if (!special && piece.type != PieceType::UserDefined) continue;
    AddedToken token;
    token.content = piece.text;
    token.id = id;
    token.special = special;
    (special ? out.added_tokens : out.frozen_tokens).push_back(std::move(token));
  }
}

void add_configured_tokens(const TokenizerConfig& config, const std::string& file, BpeDefinition& out) {
  for (const AddedToken& token : config.added_tokens) {
    const auto same = std::find_if(out.tokens.begin(), out.tokens.end(),
                                   [&](const BpeDefinition::Token& t) { return t.text == token.content; });
    if (same != out.tokens.end() && same->id != token.id)
      throw Error("{}: added_tokens_decoder of tokenizer_config.json: \"{}\" has id {}, but {} in the model",
                  file, token.content, token.id, same->id);
    std::erase_if(out.added_tokens, [&](const AddedToken& t) { return t.id == token.id; });
    std::erase_if(out.frozen_tokens, [&](const AddedToken& t) { return t.id == token.id; });
    out.added_tokens.push_back(token);
    out.added_tokens.back().normalized =
        false;  // the slow tokenizers, which this format belongs to, ignore it
  }
}

void set_bos_and_eos(const SpmModel& model, const TokenizerConfig& config, const std::string& file,
                     BpeTokenizer& tokenizer) {
  const auto configured = [&](const std::string& text, const char* field) {
    const auto id = tokenizer.find(text);
    if (!id)
      throw Error("{}: {} of tokenizer_config.json: \"{}\" is not in the vocabulary", file, field, text);
    return *id;
  };
  const auto control = [&](std::string_view text) -> std::optional<TokenId> {
    const auto id = tokenizer.find(text);
    return id && tokenizer.is_special(*id) ? id : std::nullopt;
  };
  tokenizer.bos = config.bos_token ? configured(*config.bos_token, "bos_token") : control(model.bos_piece);
  const auto eos = config.eos_token ? configured(*config.eos_token, "eos_token") : control(model.eos_piece);
  if (eos) tokenizer.eos.push_back(*eos);
  // Hugging Face's LlamaTokenizer adds BOS unless told otherwise.
  tokenizer.add_bos = config.add_bos_token.value_or(true) && tokenizer.bos.has_value();
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_sentencepiece(std::string_view content, const std::string& file,
                                                        const nlohmann::json& tokenizer_config) {
  const TokenizerConfig config = TokenizerConfig::read(tokenizer_config);
  const SpmModel model = SpmModel::parse(content, file);
  check_supported(model, file);

  BpeDefinition definition;
  definition.where = file;
  definition.byte_fallback = model.byte_fallback;
  definition.fuse_unknown = true;
  const bool prefix = config.add_prefix_space.value_or(model.add_dummy_prefix);
  set_spm_conventions(prefix, config.legacy.value_or(true), definition);
  add_pieces(model, definition);
  add_configured_tokens(config, file, definition);
  std::vector<ScoredPiece> pieces;
  pieces.reserve(model.pieces.size());
  for (const SpmModel::Piece& piece : model.pieces)
    pieces.push_back({piece.text, piece.score, piece.type == PieceType::Normal});
  add_score_merges(pieces, file, definition);

  auto tokenizer = std::make_unique<BpeTokenizer>(std::move(definition));
  set_bos_and_eos(model, config, file, *tokenizer);
  return tokenizer;
}

std::unique_ptr<Tokenizer> load_sentencepiece(const std::filesystem::path& tokenizer_model,
                                              const nlohmann::json& tokenizer_config) {
  const MappedFile file(tokenizer_model);
  const std::string_view content(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return tokenizer_from_sentencepiece(content, tokenizer_model.string(), tokenizer_config);
}

}  // namespace augur
