#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace augur {

/// Rotary position embedding, with every rope_scaling type of the supported families.
struct RopeConfig {
  enum class Scaling {
    None,
    Linear,
    Dynamic,  ///< NTK-aware; the frequencies are fixed for the context the model is opened with
    Llama3,
    Yarn,
    Factors,  ///< a divisor for every frequency, as GGUF files may carry
  };
  double theta = 10000.0;
  Scaling scaling = Scaling::None;
  double factor = 1.0;
  double low_freq_factor = 1.0;       ///< Llama3
  double high_freq_factor = 4.0;      ///< Llama3
  std::int64_t original_context = 0;  ///< Llama3, Yarn, Dynamic
  double attention_factor = 0.0;      ///< Yarn; 0: derived from factor
  double beta_fast = 32.0;            ///< Yarn
  double beta_slow = 1.0;             ///< Yarn
  bool truncate = true;               ///< Yarn: round the ends of the ramp to whole dimensions
  std::vector<double> factors;        ///< Factors: [head_dim / 2]

  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
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
  /// Context to use when none is asked for: what the model was trained or extended to.
  std::int64_t max_context = 0;
  /// Longest context that may be asked for. More than max_context with Dynamic rope scaling only, where a
  /// longer one changes the frequencies; less than what config.json says where a sliding window ends it.
  std::int64_t context_limit = 0;
  float norm_eps = 1e-6f;
  RopeConfig rope;
  bool tied_embeddings = false;
  bool qkv_bias = false;  ///< Qwen2; Llama's attention_bias (which adds o_bias too)
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  ///< Qwen3: RMSNorm per head on q and k before the rotation
  /// 0: none. Attention looks at the whole context, so a model with a window runs up to that length, where
  /// the window makes no difference yet: max_context and context_limit do not exceed it.
  std::int64_t sliding_window = 0;

  /// From config.json. Error names `file` and the field for anything missing, absurd or unsupported.
  static ModelConfig from_json(const nlohmann::json& config, const std::string& file);

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Inverse frequencies [head_dim / 2] after scaling, for contexts up to `context` (only Dynamic depends on
/// it), and the factor by which cos and sin are multiplied (Yarn).
struct RopeTable {
  std::vector<float> inverse_frequencies;
  float magnitude = 1.0f;
};
RopeTable make_rope_table(const RopeConfig& rope, int head_dim, std::int64_t context);

}  // namespace augur
