#pragma once
#include <span>
#include <string_view>
#include <utility>

namespace augur {

/// What a GGUF architecture is to Hugging Face, and what llama.cpp's converter does to its values.
struct GgufArchitecture {
  std::string_view name;         ///< general.architecture
  std::string_view model_type;   ///< config.json's
  std::string_view model_class;  ///< config.json's `architectures`
  std::string_view activation = "silu";
  bool interleaved = false;      ///< the rotary halves of each q and k head are interleaved
  float norm_offset = 0.0f;      ///< is added to the weights of all norms
  bool windows = false;          ///< a sliding window is read from its metadata
  bool experts = false;          ///< reads expert_count and so on
  bool qkv_bias_always = false;  ///< its biases have no key
  /// Layer names, GGUF's and Hugging Face's, where they differ from the usual ones.
  std::span<const std::pair<std::string_view, std::string_view>> names = {};
};

std::span<const GgufArchitecture> gguf_architectures();
/// By general.architecture; `experts`: the file has some, which for "llama" is another model.
/// nullptr for one whose models this project does not run.
const GgufArchitecture* find_gguf_architecture(std::string_view name, bool experts = false);

}  // namespace augur
