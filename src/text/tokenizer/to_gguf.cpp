#include "text/tokenizer/to_gguf.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "files/json_reader.h"
#include "files/mapped_file.h"
#include "text/tokenizer/check_gguf.h"
#include "text/tokenizer/config.h"
#include "text/tokenizer/fields.h"
#include "text/tokenizer/gguf.h"
#include "text/tokenizer/gguf_token_type.h"
#include "text/tokenizer/spm_model.h"
#include "text/tokenizer/table.h"

namespace augur {

namespace {

using nlohmann::json;

constexpr float kNoScore = -1000;

void place(GgufVocabulary& out, std::int64_t id, const std::string& text, std::int32_t type,
           std::int64_t id_limit) {
  if (id < 0 || id >= id_limit) throw Error("{}: token {:?} has the id {}", out.file, text, id);
  const auto at = static_cast<std::size_t>(id);
  if (out.tokens.size() <= at) {
    out.tokens.resize(at + 1);
    out.token_types.resize(at + 1, kUnused);
  }
  out.tokens[at] = text;
  out.token_types[at] = type;
}

/// What tokenizer_config.json adds to the tokenizer's own file.
void place_configured(GgufVocabulary& out, const std::vector<AddedToken>& tokens) {
  const auto limit = token_id_limit(out.tokens.size() + tokens.size());
  for (const AddedToken& token : tokens) {
    const auto at = static_cast<std::size_t>(token.id);
    const bool known =
        at < out.tokens.size() && out.tokens[at] == token.content && out.token_types[at] != kNormal;
    if (!known) place(out, token.id, token.content, token.special ? kControl : kUserDefined, limit);
  }
}

/// Readers want a text for every id, and a score if there are scores.
void fill_gaps(GgufVocabulary& out) {
  for (std::size_t id = 0; id < out.tokens.size(); ++id) {
    if (out.tokens[id].empty() && out.token_types[id] == kUnused) out.tokens[id] = fmt::format("[PAD{}]", id);
  }
  if (!out.scores.empty()) out.scores.resize(out.tokens.size(), kNoScore);
}

GgufVocabulary from_sentencepiece(const std::filesystem::path& path, const TokenizerConfig& config) {
  const MappedFile file(path);
  const SpmModel model = SpmModel::parse(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path.string());
  if (!model.is_bpe) throw Error("{}: only BPE models can be written to GGUF", path.string());
  GgufVocabulary out;
  out.file = path.string();
  out.model = "llama";
  out.pre = "default";
  out.add_space_prefix = config.add_prefix_space.value_or(model.add_dummy_prefix);
  for (const SpmModel::Piece& piece : model.pieces) {
    if (piece.type == SpmModel::PieceType::Unknown) out.unk = std::ssize(out.tokens);
    out.tokens.emplace_back(piece.text);
    out.scores.push_back(piece.score);
    out.token_types.push_back(static_cast<std::int32_t>(piece.type));
  }
  place_configured(out, config.added_tokens);
  fill_gaps(out);
  return out;
}

/// The steps of a component, sequences opened; `parts`: where a sequence keeps its own.
void flatten(const json& step, const char* parts, std::vector<const json*>& out) {
  if (!step.is_object()) return;
  if (step.value("type", "") == "Sequence" && step.contains(parts)) {
    for (const json& part : step[parts]) flatten(part, parts, out);
  } else {
    out.push_back(&step);
  }
}

std::vector<const json*> steps_of(const json& content, const char* component, const char* parts) {
  std::vector<const json*> steps;
  if (const auto found = content.find(component); found != content.end()) flatten(*found, parts, steps);
  return steps;
}

bool normalizes(const json& content, const std::string& file) {
  const auto steps = steps_of(content, "normalizer", "normalizers");
  for (const json* step : steps) {
    if (const std::string type = step->value("type", ""); type != "NFC")
      throw Error(ErrorKind::Unsupported, "{}: normalizer: {:?} has no name in GGUF", file, type);
  }
  return !steps.empty();
}

/// Whether a Split step keeps all of the text, cut at the matches.
bool keeps_all(const json& step, const std::string& where) {
  const bool inverted = flag_or(step, "invert", false, where);
  const std::string behavior = string_or(step, "behavior", "Isolated", where);
  return behavior == "Isolated" ? !inverted : behavior == "Removed" && inverted;
}

/// The expressions that a byte-level pre-tokenizer cuts with, one after the other.
std::vector<std::string> expressions(const json& content, const std::string& where) {
  std::vector<std::string> out;
  for (const json* step : steps_of(content, "pre_tokenizer", "pretokenizers")) {
    const std::string type = step->value("type", "");
    if (type == "Digits") {
      out.emplace_back(step->value("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)");
    } else if (type == "Split" && keeps_all(*step, where)) {
      out.push_back(require_pattern(*step, where).text);
    } else if (type == "ByteLevel") {
      if (step->value("use_regex", true)) out.emplace_back(kGpt2Pattern);
    } else {
      throw Error(ErrorKind::Unsupported, "{}: {:?} has no name in GGUF", where, type);
    }
  }
  return out;
}

std::string pre_name(const json& content, const std::string& file) {
  const std::string where = file + ": pre_tokenizer";
  const std::vector<std::string> patterns = expressions(content, where);
  const std::vector<std::string_view> steps(patterns.begin(), patterns.end());
  const bool nfc = normalizes(content, file);
  const bool ignore_merges = flag_or(require_field(content, "model", file), "ignore_merges", false, file);
  const auto* row = find_gguf_pre_tokenizer(
      GgufPreTokenizerRow{.steps = steps, .ignore_merges = ignore_merges, .nfc = nfc});
  if (row == nullptr)
    throw Error(ErrorKind::Unsupported,
                "{}: its expression {:?} {} NFC has no name in GGUF that is known here", where,
                fmt::join(patterns, "; "), nfc ? "with" : "without");
  return std::string(written_name(*row));
}

/// "left right" each.
std::vector<std::string> read_merges(const json& model, const std::string& file) {
  std::vector<std::string> merges;
  for (const json& merge : require_field(model, "merges", file)) {
    if (merge.is_string()) {
      merges.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      throw Error("{}: merges: expected \"left right\" or [\"left\", \"right\"]", file);
    }
  }
  return merges;
}

/// Where SentencePiece has scores, such files list merges: a token scores by the first that makes it.
std::vector<float> scores_of(const std::vector<std::string>& merges, const GgufVocabulary& vocabulary) {
  std::unordered_map<std::string, float> by_text;
  for (std::string merged : merges) {
    if (const auto space = merged.find(' '); space != std::string::npos) merged.erase(space, 1);
    by_text.emplace(std::move(merged), -static_cast<float>(by_text.size()));
  }
  std::vector<float> scores;
  for (const std::string& token : vocabulary.tokens) {
    const auto found = by_text.find(token);
    scores.push_back(found != by_text.end() ? found->second : -static_cast<float>(by_text.size()));
  }
  return scores;
}

GgufVocabulary from_json(const std::filesystem::path& path, const TokenizerConfig& config) {
  const json content = read_json(path);
  GgufVocabulary out;
  out.file = path.string();
  const json& model = require_field(content, "model", out.file);
  if (string_or(model, "type", "BPE", out.file) != "BPE") {
    throw Error("{}: model: only BPE tokenizers can be written to GGUF", out.file);
  }
  const bool by_characters = flag_or(model, "byte_fallback", false, out.file);
  const std::string unknown = string_or(model, "unk_token", "", out.file);
  const json& vocab = require_field(model, "vocab", out.file);
  const auto added = content.find("added_tokens");
  const auto limit = token_id_limit(vocab.size() + (added == content.end() ? 0 : added->size()));
  for (const auto& [text, id] : vocab.items()) {
    if (!id.is_number_integer()) throw Error("{}: vocab: {:?}: expected an id", out.file, text);
    const bool byte = by_characters && text.size() == 6 && text.starts_with("<0x");
    place(out, id.get<std::int64_t>(), text, byte ? kByte : kNormal, limit);
    if (by_characters && text == unknown) out.unk = id.get<std::int64_t>();
  }
  if (added != content.end()) {
    for (const json& token : *added) {
      place(out, require_integer(token, "id", out.file), require_string(token, "content", out.file),
            flag_or(token, "special", false, out.file) ? kControl : kUserDefined, limit);
    }
  }
  place_configured(out, config.added_tokens);
  fill_gaps(out);
  if (by_characters) {
    out.model = "llama";
    out.pre = "default";
    out.scores = scores_of(read_merges(model, out.file), out);
    const auto steps = steps_of(content, "normalizer", "normalizers");
    out.add_space_prefix =
        std::ranges::any_of(steps, [](const json* s) { return s->value("type", "") == "Prepend"; });
    return out;
  }
  out.model = "gpt2";
  out.pre = pre_name(content, out.file);
  out.merges = read_merges(model, out.file);
  return out;
}

}  // namespace

GgufVocabulary gguf_vocabulary_of_folder(const std::filesystem::path& folder, const Tokenizer& tokenizer) {
  const auto config = TokenizerConfig::read(read_json_object_if_exists(folder / "tokenizer_config.json"));
  GgufVocabulary out;
  if (const auto file = folder / "tokenizer.json"; file_exists(file)) {  // the order is Checkpoint's
    out = from_json(file, config);
  } else if (const auto model = folder / "tokenizer.model"; file_exists(model)) {
    out = from_sentencepiece(model, config);
  } else {
    throw Error(ErrorKind::NotFound, "{}: no tokenizer: expected tokenizer.json or tokenizer.model",
                folder.string());
  }
  check_gguf_vocabulary(out, tokenizer);
  return out;
}

}  // namespace augur
