#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/weight_packer.h"
#include "support/random_tensors.h"
#include "support/stories.h"

namespace augur::testing_support {

/// Zeros of whatever is asked for, of which it takes note.
class NotedWeights final : public WeightSource {
 public:
  RowReader open(const std::string& name, const Shape& shape) override {
    entries.push_back({.name = name, .dtype = DType::F32, .shape = shape});
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return [count](std::int64_t, std::int64_t, float* out) { std::fill_n(out, count, 0.0f); };
  }
  std::vector<SafetensorsWriter::Entry> entries;
};

/// The tensors of a layer of the model's own that drafts, as Qwen3.5 has one: a layer like the first of it
/// that attends, with experts where any has some.
inline std::vector<SafetensorsWriter::Entry> own_layer(const ModelConfig& model) {
  ModelConfig block = model;
  block.kinds = {model.layer(model.first_attention())};
  block.kinds[0].experts = model.experts();
  block.kind_of.clear();
  block.layers = 1;
  NotedWeights noted;
  WeightPacker packer({}, noted);
  LayerWeights layer;
  pack_layer(packer, block, 0, "mtp.layers.0.", layer);
  const std::int64_t width = model.hidden;
  for (const char* norm :
       {"mtp.norm.weight", "mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight"})
    noted.open(norm, {width});
  noted.open("mtp.fc.weight", {width, 2 * width});
  return noted.entries;
}

/// A folder with a model of this configuration, whatever its family, with the vocabulary of stories260k. Its
/// weights are random, and so are `more` tensors.
inline void write_random_folder(const std::filesystem::path& folder, const nlohmann::json& config,
                                const std::vector<SafetensorsWriter::Entry>& more = {}) {
  std::filesystem::copy_file(stories_path() / "tokenizer.model", folder / "tokenizer.model",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "config.json") << config;
  NotedWeights noted;
  packed_weight_bytes(ModelConfig::from_json(config, "config.json"), {}, noted);
  noted.entries.insert(noted.entries.end(), more.begin(), more.end());
  write_random_tensors(folder / "model.safetensors", noted.entries);
}

}  // namespace augur::testing_support
