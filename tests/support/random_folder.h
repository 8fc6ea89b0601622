#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/weights.h"
#include "support/random_tensors.h"
#include "support/stories.h"

namespace augur::testing_support {

/// A folder with a model of this configuration, whatever its family, with the vocabulary of stories260k. Its
/// weights are random, and so are `more` tensors.
inline void write_random_folder(const std::filesystem::path& folder, const nlohmann::json& config,
                                const std::vector<SafetensorsWriter::Entry>& more = {}) {
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
  noted.entries.insert(noted.entries.end(), more.begin(), more.end());
  write_random_tensors(folder / "model.safetensors", noted.entries);
}

}  // namespace augur::testing_support
