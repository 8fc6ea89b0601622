#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "files/weight_store.h"
#include "text/tokenizer.h"

namespace augur {

class GgufFile;
class MappedFile;

/// A model as people have it: a Hugging Face folder or a GGUF file (known by its content), seen the same way.
/// `config` is Hugging Face's config.json; for a GGUF file it is made from the metadata. Error (naming file
/// and field) for anything malformed, unknown or missing. Parts of a model can be opened too, and lack the
/// rest: a folder or a GGUF file with only a vocabulary, a lone tokenizer.json, tokenizer.model, or
/// config.json. Reading is thread-safe, except that the first call of weights() must return before others.
class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& path);
  /// A GGUF file that somebody has opened; it is held.
  static Checkpoint open(std::shared_ptr<const MappedFile> file);

  const std::filesystem::path& path() const { return path_; }
  const nlohmann::json& config() const { return *config_; }                        ///< empty object if absent
  const nlohmann::json& generation_config() const { return *generation_config_; }  ///< empty object if absent
  bool is_gguf() const { return gguf_ != nullptr; }
  const GgufFile* gguf() const { return gguf_.get(); }  ///< null unless it is one
  /// Opened on first use: inspecting a tokenizer needs no weights. Error when there are none.
  const WeightStore& weights() const;
  /// The same; null when there are none.
  const WeightStore* find_weights() const;
  /// Error when the checkpoint has no tokenizer that this project reads. Its eos ids are the tokenizer's and
  /// those of both configurations.
  std::unique_ptr<Tokenizer> load_tokenizer() const;
  /// The same tokenizer as others of this process use that have opened the same files.
  std::shared_ptr<const Tokenizer> shared_tokenizer() const;
  /// What it is made from: GGUF's name of its kind, or its file's name; empty: there is none.
  std::string tokenizer_kind() const;
  /// The chat template's source, if the model has one.
  std::optional<std::string> chat_template() const;

 private:
  void open_folder();
  void take_gguf(GgufFile file);
  void open_single_file();
  /// `config` of `file`, or what it has of a text model.
  void take_config(const nlohmann::json& config, const std::filesystem::path& file);
  nlohmann::json tokenizer_config() const;  ///< tokenizer_config.json; empty object if absent

  std::filesystem::path path_;
  std::filesystem::path tokenizer_file_;  ///< empty: none, or in the GGUF file
  std::shared_ptr<const nlohmann::json> config_;
  bool is_text_part_ = false;  ///< of a multimodal model
  std::shared_ptr<const nlohmann::json> generation_config_;
  std::shared_ptr<const GgufFile> gguf_;
  mutable std::shared_ptr<const WeightStore> weights_;
};

/// Heads that tools keep in a file of their own beside a model, `stem`.pt or `stem`.safetensors; null: there
/// is none.
std::unique_ptr<WeightStore> open_heads_file(const std::filesystem::path& folder, const std::string& stem);

}  // namespace augur
