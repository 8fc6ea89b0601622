#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "augur/model_description.h"
#include "base/error.h"
#include "base/own_environment.h"
#include "checkpoint/checkpoint.h"
#include "draft/detect.h"
#include "engine/model_content.h"
#include "files/gguf/gguf.h"
#include "model/config.h"
#include "model/fingerprint.h"

namespace augur {

namespace {

class Describing {
 public:
  explicit Describing(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
    found_.path = checkpoint.path().string();
    found_.gguf = checkpoint.is_gguf();
  }

  ModelDescription run() {
    const bool weighs = part([&] { describe_weights(); });
    // The tensors of a head are not those of its configuration.
    if (weighs && !found_.files.empty()) part([&] { describe_drafting(); });
    if (found_.head_type.empty() && has_shape()) part([&] { describe_shape(); });
    part([&] { found_.tokenizer = checkpoint_.tokenizer_kind(); });
    part([&] { found_.chat_template = checkpoint_.chat_template().value_or(""); });
    if (checkpoint_.is_gguf()) found_.metadata = metadata_texts(*checkpoint_.gguf());
    return std::move(found_);
  }

 private:
  /// Whether it could be found out.
  template <class Describe>
  bool part(const Describe& describe) {
    try {
      describe();
      return true;
    } catch (const Error& error) {
      found_.problems.push_back({error.kind(), error.what()});
      return false;
    }
  }

  bool has_shape() const {
    // A vocabulary may come with some of the shapes.
    if (checkpoint_.is_gguf() && found_.files.empty())
      return checkpoint_.config().contains("num_hidden_layers");
    return !checkpoint_.config().empty();
  }

  void describe_shape() {
    const ModelConfig config = ModelConfig::from_json(checkpoint_.config(), found_.path);
    found_.shape = {.family = config.family,
                    .layers = config.layers,
                    .hidden = config.hidden,
                    .intermediate = config.intermediate,
                    .heads = config.heads,
                    .kv_heads = config.kv_heads,
                    .head_dim = config.head_dim,
                    .vocab = config.vocab,
                    .context = config.max_context,
                    .tied_embeddings = config.tied_embeddings};
  }

  void describe_weights() {
    // A vocabulary alone is fine.
    if (checkpoint_.is_gguf() && checkpoint_.gguf()->tensor_infos().empty()) return;
    const WeightStore* const weights = checkpoint_.find_weights();
    if (weights == nullptr) return;
    std::map<std::string, ModelDescription::File> files;
    if (checkpoint_.is_gguf()) {
      for (const GgufPart& part : checkpoint_.gguf()->parts()) files[part.name].path = part.name;
    }
    std::map<DType, ModelDescription::WeightType> types;
    for (const auto& [tensor_name, tensor] : weights->tensors()) {
      std::int64_t count = 1;
      for (const std::int64_t extent : tensor.shape) count *= extent;
      const std::int64_t bytes = storage_bytes(tensor.dtype, tensor.shape).value_or(0);
      found_.parameters += count;
      found_.weight_bytes += bytes;
      ++found_.tensors;
      ModelDescription::WeightType& type = types[tensor.dtype];
      type.name = name(tensor.dtype);
      ++type.tensors;
      type.bytes += bytes;
      ModelDescription::File& file = files[tensor.file];
      file.path = tensor.file;
      ++file.tensors;
      file.bytes += bytes;
    }
    for (auto& [path, file] : files) found_.files.push_back(std::move(file));
    for (auto& [dtype, type] : types) found_.weight_types.push_back(std::move(type));
    std::ranges::stable_sort(found_.weight_types, std::ranges::greater(),
                             &ModelDescription::WeightType::bytes);
  }

  void describe_drafting() {
    const std::string_view type = detect_drafter_type(checkpoint_);
    found_.own_drafter = own_drafter_type(checkpoint_);
    if (type == kDraftModelType) return;
    found_.head_type = type;
    if (const auto target = stated_target(found_.path, checkpoint_.config()))
      found_.head_target = to_string(*target);
  }

  const Checkpoint& checkpoint_;
  ModelDescription found_;
};

ModelDescription describe(const Checkpoint& checkpoint) {
  return Describing(checkpoint).run();
}

}  // namespace
}  // namespace augur

augur::ModelDescription augur::describe_model(const std::string& path) {
  const OwnEnvironment environment;
  return describe(Checkpoint::open(path));
}

augur::ModelDescription augur::describe_model(const ModelContent& content, const std::string& name) {
  const OwnEnvironment environment;
  return describe(open_model(content, name));
}
