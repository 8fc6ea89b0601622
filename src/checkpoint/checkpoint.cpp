#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/shared_parts.h"
#include "checkpoint/token_ids.h"
#include "files/backbone_names.h"
#include "files/drafting_names.h"
#include "files/fused_tensors.h"
#include "files/gguf/model.h"
#include "files/gpt_oss_experts.h"
#include "files/json_reader.h"
#include "files/mapped_file.h"
#include "files/safetensors.h"
#include "files/sharded_weights.h"
#include "files/text_part.h"
#include "files/torch_archive.h"
#include "text/tokenizer/loaders.h"
#include "text/tokenizer/turns.h"

namespace augur {

namespace fs = std::filesystem;

namespace {

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Medusa's and Hydra's heads have file names of their own. Null: there are none.
std::shared_ptr<WeightStore> open_folder_weights(const fs::path& folder) {
  if (has_safetensors(folder)) return open_safetensors_folder(folder);
  if (const auto archive = folder / "pytorch_model.bin"; file_exists(archive)) {
    return open_torch_archive(archive);
  }
  if (const auto index = folder / "pytorch_model.bin.index.json"; file_exists(index)) {
    return open_sharded_weights(index, open_torch_archive);
  }
  for (const char* stem : {"medusa_lm_head", "hydra_lm_head"}) {
    if (auto heads = open_heads_file(folder, stem)) return heads;
  }
  return nullptr;
}

/// A chat_template entry: a string, or a list of {"name", "template"} of which "default" is meant.
std::optional<std::string> template_of(const nlohmann::json& config, const fs::path& path) {
  const auto it = config.find("chat_template");
  if (it == config.end() || it->is_null()) return std::nullopt;
  if (it->is_string()) return it->get<std::string>();
  if (it->is_array()) {
    for (const auto& entry : *it) {
      if (entry.is_object() && entry.value("name", nlohmann::json()) == "default" &&
          entry.contains("template") && entry["template"].is_string()) {
        return entry["template"].get<std::string>();
      }
    }
  }
  throw Error("{}: chat_template: expected a string or a list with a template named default", path.string());
}

std::shared_ptr<const nlohmann::json> shared(nlohmann::json document) {
  return std::make_shared<const nlohmann::json>(std::move(document));
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& path) {
  if (!file_exists(path)) throw Error(ErrorKind::NotFound, "{}: no such file or folder", path.string());
  Checkpoint result;
  result.path_ = path;
  result.config_ = result.generation_config_ = shared(nlohmann::json::object());
  if (is_folder(path)) {
    result.open_folder();
  } else if (is_gguf_file(path)) {
    result.take_gguf(GgufFile::open(path));
  } else {
    result.open_single_file();
  }
  return result;
}

Checkpoint Checkpoint::open(std::shared_ptr<const MappedFile> file) {
  if (!is_gguf_file(*file))
    throw Error(ErrorKind::Unsupported, "{}: not a GGUF file; other models are given by their folder's path",
                file->path());
  Checkpoint result;
  result.path_ = file->path();
  result.take_gguf(GgufFile::read(std::move(file)));
  return result;
}

void Checkpoint::take_gguf(GgufFile file) {
  gguf_ = std::make_shared<const GgufFile>(std::move(file));
  // Through text, so that every number has the type that it has when it is read from a config.json.
  const auto as_read = [&](const nlohmann::json& made) { return parse_json(made.dump(), path_.string()); };
  config_ = shared(as_read(gguf_config(*gguf_)));
  generation_config_ = shared(as_read(gguf_generation_config(*gguf_)));
}

void Checkpoint::open_folder() {
  take_config(read_json_object_if_exists(path_ / "config.json"), path_ / "config.json");
  generation_config_ = shared(read_json_object_if_exists(path_ / "generation_config.json"));
  if (file_exists(path_ / "tokenizer.json")) {
    tokenizer_file_ = path_ / "tokenizer.json";
  } else if (file_exists(path_ / "tokenizer.model")) {
    tokenizer_file_ = path_ / "tokenizer.model";
  }
  if (!file_exists(path_ / "config.json") && tokenizer_file_.empty()) {
    throw Error(ErrorKind::NotFound,
                "{}: no model: expected config.json (or a tokenizer: tokenizer.json or tokenizer.model)",
                path_.string());
  }
}

void Checkpoint::open_single_file() {
  if (path_.extension() == ".json") {
    const auto document = read_json(path_);
    if (document.is_object() && document.contains("model_type")) {
      take_config(document, path_);  // a shape without weights
    } else if (document.is_object() && document.contains("model")) {
      tokenizer_file_ = path_;
    } else {
      throw Error(ErrorKind::NotFound, "{}: neither a config.json nor a tokenizer.json", path_.string());
    }
  } else if (path_.extension() == ".model") {
    tokenizer_file_ = path_;
  } else {
    throw Error("{}: not a GGUF file; other models are given by their folder (with config.json)",
                path_.string());
  }
}

void Checkpoint::take_config(const nlohmann::json& config, const fs::path& file) {
  is_text_part_ = has_text_part(config);
  config_ = shared(text_part(config, file.string()));
}

nlohmann::json Checkpoint::tokenizer_config() const {
  const auto folder = is_folder(path_) ? path_ : path_.parent_path();
  return is_gguf() ? nlohmann::json::object() : read_json_object_if_exists(folder / "tokenizer_config.json");
}

const WeightStore* Checkpoint::find_weights() const {
  if (weights_ == nullptr) {
    std::shared_ptr<WeightStore> opened;
    if (is_gguf()) {
      opened = open_gguf_weights(gguf_);
    } else if (is_folder(path_)) {
      opened = open_folder_weights(path_);
      if (opened != nullptr && config().value("model_type", nlohmann::json()) == "gpt_oss") {
        split_gpt_oss_experts(*opened);
      }
    }
    if (opened == nullptr) return nullptr;
    opened->distinguish(config().dump());
    if (is_text_part_) keep_text_part(*opened);
    if (!is_gguf()) name_drafting_layers(*opened);
    rename_backbone(config(), *opened);
    split_fused_tensors(config(), *opened);
    weights_ = std::move(opened);
  }
  return weights_.get();
}

const WeightStore& Checkpoint::weights() const {
  if (const WeightStore* found = find_weights()) return *found;
  if (is_folder(path_)) open_safetensors_folder(path_);  // whose error says what was expected
  throw Error(ErrorKind::NotFound, "{}: holds no weights", path_.string());
}

std::unique_ptr<Tokenizer> Checkpoint::load_tokenizer() const {
  std::unique_ptr<Tokenizer> tokenizer;
  if (is_gguf()) {
    const auto vocabulary = gguf_vocabulary(*gguf_);
    if (!vocabulary)
      throw Error("{}: has no vocabulary (tokenizer.ggml.model, tokenizer.ggml.tokens)", path_.string());
    tokenizer = load_gguf_tokenizer(*vocabulary);
  } else if (tokenizer_file_.empty()) {
    throw Error(ErrorKind::NotFound, "{}: no tokenizer: expected tokenizer.json or tokenizer.model",
                path_.string());
  } else if (tokenizer_file_.extension() == ".json") {
    tokenizer = load_tokenizer_json(tokenizer_file_, tokenizer_config());
  } else {
    tokenizer = load_sentencepiece(tokenizer_file_, tokenizer_config());
  }
  const std::int64_t limit = id_limit(*config_, *tokenizer, path_);
  std::unordered_set<TokenId> ends(tokenizer->eos.begin(), tokenizer->eos.end());
  for (const auto* source : {generation_config_.get(), config_.get()}) {
    if (const auto bos = ids_of(*source, "bos_token_id", limit, path_); !tokenizer->bos && !bos.empty()) {
      tokenizer->bos = bos.front();
    }
    for (const TokenId id : ids_of(*source, "eos_token_id", limit, path_)) {
      if (ends.insert(id).second) tokenizer->eos.push_back(id);
    }
  }
  keep_messages_in_turns(*tokenizer);
  return tokenizer;
}

std::shared_ptr<const Tokenizer> Checkpoint::shared_tokenizer() const {
  std::string key = "tokenizer of ";
  if (is_gguf()) {
    for (const GgufPart& part : gguf_->parts())
      key += part.mapping->identity() + "\n";  // somebody has opened it
  } else if (!tokenizer_file_.empty()) {
    key += MappedFile(tokenizer_file_).identity() + "\n" + tokenizer_config().dump();
  }
  key += config_->dump() + generation_config_->dump();
  const auto load = [&](const SharedParts::Progress&) {
    return SharedParts::Parts{std::shared_ptr<Tokenizer>(load_tokenizer())};
  };
  return std::static_pointer_cast<const Tokenizer>(SharedParts::of_process().get(key, load, {}).front());
}

std::string Checkpoint::tokenizer_kind() const {
  return is_gguf() ? gguf_->find_string("tokenizer.ggml.model").value_or("")
                   : tokenizer_file_.filename().string();
}

std::optional<std::string> Checkpoint::chat_template() const {
  if (is_gguf()) return gguf_->find_string("tokenizer.chat_template");
  const auto folder = is_folder(path_) ? path_ : path_.parent_path();
  if (const auto file = folder / "chat_template.jinja"; file_exists(file)) {
    const MappedFile source(file);
    return std::string(reinterpret_cast<const char*>(source.bytes().data()), source.bytes().size());
  }
  if (auto found = template_of(tokenizer_config(), folder / "tokenizer_config.json")) return found;
  return template_of(read_json_object_if_exists(folder / "chat_template.json"),
                     folder / "chat_template.json");
}

std::unique_ptr<WeightStore> open_heads_file(const fs::path& folder, const std::string& stem) {
  if (const auto archive = folder / (stem + ".pt"); file_exists(archive)) return open_torch_archive(archive);
  if (const auto file = folder / (stem + ".safetensors"); file_exists(file)) return open_safetensors(file);
  return nullptr;
}

}  // namespace augur
