#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace augur {

/// Rotary position embedding, with every rope_scaling type of the supported families.
struct RopeConfig {
  enum class Scaling { None, Linear, Dynamic, Llama3, Yarn };
  float theta = 10000.0f;
  Scaling scaling = Scaling::None;
  float factor = 1.0f;
  float low_freq_factor = 1.0f;        ///< Llama3
  float high_freq_factor = 4.0f;       ///< Llama3
  std::int64_t original_context = 0;   ///< Llama3, Yarn, Dynamic
  float attention_factor = 0.0f;       ///< Yarn; 0: derived from factor
  float beta_fast = 32.0f;             ///< Yarn
  float beta_slow = 1.0f;              ///< Yarn
};

/// A model family as data: what Hugging Face's config.json says, normalised. Shapes in elements.
struct ModelConfig {
  std::string family;  ///< "llama", "mistral", "qwen2", "qwen3"
  int layers = 0;
  int hidden = 0;
  int intermediate = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  std::int32_t vocab = 0;
  std::int64_t max_context = 0;
  float norm_eps = 1e-5f;
  RopeConfig rope;
  bool tied_embeddings = false;
  bool qkv_bias = false;     ///< Qwen2; Llama's attention_bias (which adds o_bias too)
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;      ///< Qwen3: RMSNorm per head on q and k before the rotation
  std::int64_t sliding_window = 0;  ///< 0: none

  /// From config.json. Error names `file` and the field for anything missing, absurd or unsupported.
  static ModelConfig from_json(const nlohmann::json& config, const std::string& file);
};

/// Inverse frequencies [head_dim / 2] after scaling, for contexts up to `context` (only Dynamic depends on
/// it), and the factor by which cos and sin are multiplied (Yarn).
struct RopeTable {
  std::vector<float> inverse_frequencies;
  float magnitude = 1.0f;
};
RopeTable make_rope_table(const RopeConfig& rope, int head_dim, std::int64_t context);

}  // namespace augur
