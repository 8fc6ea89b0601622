#pragma once
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "files/safetensors_writer.h"
#include "model/weights.h"
#include "support/stories.h"

namespace augur::testing_support {

/// A folder with a model of this configuration, whatever its family, with the vocabulary of stories260k. Its
/// weights are random, and sharper than at an untrained model's start, so that greedy texts differ.
inline void write_random_folder(const std::filesystem::path& folder, const nlohmann::json& config) {
  class Noted final : public WeightSource {
   public:
    RowReader open(const std::string& name, const Shape& shape) override {
      entries.push_back({.name = name, .dtype = DType::F32, .shape = shape});
      std::int64_t count = 1;
      for (const std::int64_t extent : shape) count *= extent;
      return [count](std::int64_t, std::int64_t, float* out) { std::fill_n(out, count, 0.0f); };
    }
    std::vector<SafetensorsWriter::Entry> entries;
  };
  std::filesystem::copy_file(stories_path() / "tokenizer.model", folder / "tokenizer.model",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "config.json") << config;
  Noted noted;
  packed_weight_bytes(ModelConfig::from_json(config, "config.json"), {}, noted);
  SafetensorsWriter writer(folder / "model.safetensors", noted.entries);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const SafetensorsWriter::Entry& entry : noted.entries) {
    const bool norm = entry.shape.size() == 1;
    std::int64_t count = 1;
    for (const std::int64_t extent : entry.shape) count *= extent;
    std::vector<float> values(static_cast<std::size_t>(count));
    const float size = 2.0f / std::sqrt(static_cast<float>(entry.shape.back()));
    for (float& v : values) v = norm ? 1.0f + 0.1f * normal(random) : size * normal(random);
    writer.write(std::as_bytes(std::span<const float>(values)));
  }
  writer.finish();
}

}  // namespace augur::testing_support
