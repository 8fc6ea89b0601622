#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/mapped_file.h"
#include "io/tokenizer_config.h"
#include "io/tokenizer_from_memory.h"
#include "io/tokenizer_loaders.h"
#include "io/tokenizer_normalizer.h"
#include "io/tokenizer_table.h"
#include "io/unicode.h"

namespace augur {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581

// Appended to a serialised model this overrides one field: protocol buffers merge repeated occurrences of an
// embedded message. ModelProto.normalizer_spec (3) { add_dummy_prefix (3): false }.
constexpr std::string_view kWithoutDummyPrefix{"\x1A\x02\x18\x00", 4};

/// tokenizer.model through the SentencePiece library, with added tokens recognised around it.
class SentencePieceTokenizer : public TableTokenizer {
 public:
  SentencePieceTokenizer(std::string_view serialized, const std::string& file, const TokenizerConfig& config);

  std::vector<TokenId> encode(std::string_view text) const override;

 private:
  using Processor = sentencepiece::SentencePieceProcessor;

  void add_pieces(std::vector<AddedToken>& added);
  void add_configured_tokens(const TokenizerConfig& config, std::vector<AddedToken>& added);
  void set_bos_and_eos(const TokenizerConfig& config, const std::vector<AddedToken>& added);
  void encode_stretch(std::string_view text, bool prefix, std::vector<TokenId>& out) const;

  std::string file_;
  Processor processor_;       ///< as the model says
  Processor without_prefix_;  ///< the same, adding no space at the start
  AddedTokenMatcher added_tokens_;
  std::array<TokenId, 256> byte_tokens_;  ///< -1: none
  TokenId unknown_ = -1;                  ///< -1: none
  bool prefix_ = false;                   ///< the model adds a space at the start ...
  bool prefix_everywhere_ = true;         ///< ... and behind every added token
};

SentencePieceTokenizer::SentencePieceTokenizer(std::string_view serialized, const std::string& file,
                                               const TokenizerConfig& config)
    : file_(file) {
  const auto check = [&](const sentencepiece::util::Status& status) {
    if (!status.ok()) throw Error("{}: not a SentencePiece model: {}", file_, status.ToString());
  };
  check(processor_.LoadFromSerializedProto(serialized));
  check(without_prefix_.LoadFromSerializedProto(std::string(serialized).append(kWithoutDummyPrefix)));
  prefix_ = config.add_prefix_space.value_or(true) &&
            processor_.EncodeAsPieces("a") != without_prefix_.EncodeAsPieces("a");
  prefix_everywhere_ = config.legacy.value_or(true);
  strips_leading_space_ = prefix_;

  std::vector<AddedToken> added;
  add_pieces(added);
  add_configured_tokens(config, added);
  set_bos_and_eos(config, added);
  added_tokens_ = AddedTokenMatcher(std::move(added));
}

void SentencePieceTokenizer::add_pieces(std::vector<AddedToken>& added) {
  byte_tokens_.fill(-1);
  for (int id = 0; id < processor_.GetPieceSize(); ++id) {
    const std::string& piece = processor_.IdToPiece(id);
    const bool special = processor_.IsControl(id) || processor_.IsUnknown(id);
    if (processor_.IsByte(id)) {
      const int byte = std::stoi(piece.substr(3, 2), nullptr, 16);  // the library has checked "<0xXX>"
      byte_tokens_[static_cast<std::size_t>(byte)] = id;
      set_entry(id, std::string(1, static_cast<char>(byte)), Kind::Normal, file_);
    } else if (special) {
      set_entry(id, piece, Kind::Special, file_);
    } else {
      set_entry(id, replace_all(piece, kSpace, " "), Kind::Normal, file_);
    }
    if (processor_.IsUnknown(id)) unknown_ = id;
    if (special) added.push_back({.content = piece, .id = id, .special = true});
  }
}

void SentencePieceTokenizer::add_configured_tokens(const TokenizerConfig& config,
                                                   std::vector<AddedToken>& added) {
  for (const AddedToken& token : config.added_tokens) {
    const auto same =
        std::find_if(added.begin(), added.end(), [&](const auto& t) { return t.content == token.content; });
    if (same != added.end()) {
      if (same->id != token.id)
        throw Error(
            "{}: added_tokens_decoder of tokenizer_config.json: \"{}\" has id {}, but {} in the model", file_,
            token.content, token.id, same->id);
      *same = token;
    } else {
      added.push_back(token);
    }
    set_entry(token.id, token.content, token.special ? Kind::Special : Kind::Normal, file_);
  }
}

void SentencePieceTokenizer::set_bos_and_eos(const TokenizerConfig& config,
                                             const std::vector<AddedToken>& added) {
  const auto id_of = [&](const std::string& text, const char* field) -> TokenId {
    for (const AddedToken& token : added)
      if (token.content == text) return token.id;
    const int id = processor_.PieceToId(text);
    if (id < 0 || processor_.IsUnknown(id))
      throw Error("{}: {} of tokenizer_config.json: \"{}\" is not in the vocabulary", file_, field, text);
    return id;
  };
  if (config.bos_token)
    bos = id_of(*config.bos_token, "bos_token");
  else if (processor_.bos_id() >= 0)
    bos = processor_.bos_id();
  if (config.eos_token)
    eos.push_back(id_of(*config.eos_token, "eos_token"));
  else if (processor_.eos_id() >= 0)
    eos.push_back(processor_.eos_id());
  // Hugging Face's LlamaTokenizer adds BOS unless told otherwise.
  add_bos = config.add_bos_token.value_or(true) && bos.has_value();
}

std::vector<TokenId> SentencePieceTokenizer::encode(std::string_view text) const {
  std::vector<TokenId> out;
  std::vector<AddedTokenMatcher::Part> parts;
  added_tokens_.split(text, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].token != nullptr)
      out.push_back(parts[i].token->id);
    else
      encode_stretch(parts[i].text, prefix_ && (prefix_everywhere_ || i == 0), out);
  }
  return out;
}

// The library would replace invalid bytes by U+FFFD; as byte tokens they survive.
void SentencePieceTokenizer::encode_stretch(std::string_view text, bool prefix,
                                            std::vector<TokenId>& out) const {
  std::vector<int> ids;
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    if (valid > 0) {
      const auto status = (prefix ? processor_ : without_prefix_).Encode({text.data(), valid}, &ids);
      if (!status.ok()) throw Error("{}: encoding failed: {}", file_, status.ToString());
      out.insert(out.end(), ids.begin(), ids.end());
      text.remove_prefix(valid);
      prefix = false;
    }
    if (text.empty()) break;
    const TokenId byte = byte_tokens_[static_cast<unsigned char>(text.front())];
    if (byte >= 0 || unknown_ >= 0) out.push_back(byte >= 0 ? byte : unknown_);
    text.remove_prefix(1);
  }
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_sentencepiece(std::string_view content, const std::string& file,
                                                        const nlohmann::json& tokenizer_config) {
  return std::make_unique<SentencePieceTokenizer>(content, file, TokenizerConfig::read(tokenizer_config));
}

std::unique_ptr<Tokenizer> load_sentencepiece(const std::filesystem::path& tokenizer_model,
                                              const nlohmann::json& tokenizer_config) {
  const MappedFile file(tokenizer_model);
  const std::string_view content(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return tokenizer_from_sentencepiece(content, tokenizer_model.string(), tokenizer_config);
}

}  // namespace augur
