#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "io/tokenizer.h"
#include "io/weight_store.h"

namespace augur {

/// A model as people have it: a Hugging Face folder or a GGUF file, seen the same way. `config` is
/// Hugging Face's config.json; for a GGUF file it is made from the metadata. Error (naming file and field)
/// for anything malformed, unknown or missing.
class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const nlohmann::json& config() const { return config_; }
  const nlohmann::json& generation_config() const { return generation_config_; }  ///< empty object if absent
  bool is_gguf() const { return is_gguf_; }
  /// Opened on first use: inspecting a tokenizer needs no weights. Error when there are none.
  const WeightStore& weights() const;
  /// Error when the checkpoint has no tokenizer that this project reads.
  std::unique_ptr<Tokenizer> load_tokenizer() const;
  /// The chat template's source, if the model has one.
  std::optional<std::string> chat_template() const;

 private:
  std::filesystem::path path_;
  nlohmann::json config_;
  nlohmann::json generation_config_;
  bool is_gguf_ = false;
  mutable std::shared_ptr<const WeightStore> weights_;
};

}  // namespace augur
