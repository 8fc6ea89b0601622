#include "io/tokenizer/to_gguf.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/json_reader.h"
#include "io/mapped_file.h"
#include "io/tokenizer/fields.h"
#include "io/tokenizer/gguf.h"
#include "io/tokenizer/spm_model.h"

namespace augur {

namespace {

using nlohmann::json;

enum TokenType : std::int32_t { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

GgufVocabulary from_sentencepiece(const std::filesystem::path& path) {
  const MappedFile file(path);
  const SpmModel model = SpmModel::parse(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path.string());
  if (!model.is_bpe) throw Error("{}: only BPE models can be written to GGUF", path.string());
  GgufVocabulary out;
  out.file = path.string();
  out.model = "llama";
  out.pre = "default";
  out.add_space_prefix = model.add_dummy_prefix;
  for (const SpmModel::Piece& piece : model.pieces) {
    if (piece.type == SpmModel::PieceType::Unknown) out.unk = std::ssize(out.tokens);
    out.tokens.emplace_back(piece.text);
    out.scores.push_back(piece.score);
    out.token_types.push_back(static_cast<std::int32_t>(piece.type));
  }
  return out;
}

/// The steps of a pre_tokenizer, sequences opened.
void flatten(const json& step, std::vector<const json*>& out) {
  if (!step.is_object()) return;
  if (step.value("type", "") == "Sequence" && step.contains("pretokenizers")) {
    for (const json& part : step["pretokenizers"]) flatten(part, out);
  } else {
    out.push_back(&step);
  }
}

std::string pre_name(const json& pre_tokenizer, const std::string& file) {
  std::vector<const json*> steps;
  flatten(pre_tokenizer, steps);
  std::string pattern;
  bool single_digits = false;
  for (const json* step : steps) {
    const std::string type = step->value("type", "");
    if (type == "Digits" && step->value("individual_digits", false)) {
      single_digits = true;
    } else if (type == "Split" && pattern.empty()) {
      pattern = require_pattern(*step, file + ": pre_tokenizer").text;
    } else if (type == "ByteLevel") {
      if (pattern.empty() && step->value("use_regex", true)) pattern = kGpt2Pattern;
    } else {
      throw Error("{}: pre_tokenizer: {:?} has no name in GGUF", file, type);
    }
  }
  const GgufPreTokenizerRow* row = find_gguf_pre_tokenizer_by_pattern(pattern, single_digits);
  if (row == nullptr) throw Error("{}: pre_tokenizer: its expression has no name in GGUF", file);
  return std::string(row->name);
}

void place(GgufVocabulary& out, std::int64_t id, const std::string& text, std::int32_t type) {
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
  if (id < 0 || id >= kMaxTokens) throw Error("{}: token {:?} has the id {}", out.file, text, id);
  const auto at = static_cast<std::size_t>(id);
  if (out.tokens.size() <= at) {
    out.tokens.resize(at + 1);
    out.token_types.resize(at + 1, kUnused);
  }
  out.tokens[at] = text;
  out.token_types[at] = type;
}

GgufVocabulary from_json(const std::filesystem::path& path) {
  const json content = read_json(path);
  GgufVocabulary out;
  out.file = path.string();
  const json& model = require_field(content, "model", out.file);
  if (string_or(model, "type", "BPE", out.file) != "BPE") {
    throw Error("{}: model: only BPE tokenizers can be written to GGUF", out.file);
  }
  const bool by_characters = flag_or(model, "byte_fallback", false, out.file);
  const std::string unknown = string_or(model, "unk_token", "", out.file);
  for (const auto& [text, id] : require_field(model, "vocab", out.file).items()) {
    if (!id.is_number_integer()) throw Error("{}: vocab: {:?}: expected an id", out.file, text);
    const bool byte = by_characters && text.size() == 6 && text.starts_with("<0x");
    place(out, id.get<std::int64_t>(), text, byte ? kByte : kNormal);
    if (by_characters && text == unknown) out.unk = id.get<std::int64_t>();
  }
  if (const auto added = content.find("added_tokens"); added != content.end()) {
    for (const json& token : *added) {
      place(out, require_integer(token, "id", out.file), require_string(token, "content", out.file),
            flag_or(token, "special", false, out.file) ? kControl : kUserDefined);
    }
  }
  for (std::size_t id = 0; id < out.tokens.size(); ++id) {
    if (out.tokens[id].empty()) out.tokens[id] = fmt::format("[PAD{}]", id);
  }
  if (by_characters) {
    // Such files list merges where SentencePiece has scores; both follow the order of the ids.
    out.model = "llama";
    out.pre = "default";
    for (std::size_t id = 0; id < out.tokens.size(); ++id) out.scores.push_back(-static_cast<float>(id));
    const auto normalizer = content.find("normalizer");
    out.add_space_prefix =
        normalizer != content.end() && normalizer->dump().find("\"Prepend\"") != std::string::npos;
    return out;
  }
  out.model = "gpt2";
  out.pre = pre_name(require_field(content, "pre_tokenizer", out.file), out.file);
  for (const json& merge : require_field(model, "merges", out.file)) {
    if (merge.is_string()) {
      out.merges.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      out.merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      throw Error("{}: merges: expected \"left right\" or [\"left\", \"right\"]", out.file);
    }
  }
  return out;
}

}  // namespace

GgufVocabulary gguf_vocabulary_of_folder(const std::filesystem::path& folder) {
  if (file_exists(folder / "tokenizer.model")) return from_sentencepiece(folder / "tokenizer.model");
  if (file_exists(folder / "tokenizer.json")) return from_json(folder / "tokenizer.json");
  throw Error("{}: no tokenizer: expected tokenizer.json or tokenizer.model", folder.string());
}

}  // namespace augur
