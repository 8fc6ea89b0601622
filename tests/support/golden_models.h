#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/config.h"

namespace augur::testing_support {

/// Tiny random models of every family: see tests/golden/make_model_golden.py.
inline std::filesystem::path golden_model_path(const std::string& name) {
  return std::filesystem::path(AUGUR_SOURCE_DIR) / "tests/golden/models" / name;
}

inline std::vector<std::string> golden_model_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_model_path(""))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Some of them as GGUF files of llama.cpp's converter: see tests/golden/make_gguf_model_golden.py.
inline std::filesystem::path golden_gguf_path(const std::string& name) {
  return golden_model_path("").parent_path().parent_path() / "gguf_models" / (name + ".gguf");
}

inline std::vector<std::string> golden_gguf_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_gguf_path("x").parent_path())) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A context that the model can have, of at most 160 tokens: more than two of its windows, if it has some.
inline std::int64_t golden_model_context(const std::string& name) {
  const Checkpoint checkpoint = Checkpoint::open(golden_model_path(name));
  return std::min<std::int64_t>(160, ModelConfig::from_json(checkpoint.config(), name).context_limit);
}

}  // namespace augur::testing_support
