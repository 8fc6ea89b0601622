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
  bool interleaved = false;     ///< the rotary halves of each q and k head are interleaved
  float norm_offset = 0.0f;     ///< is added to the weights of all norms, but to those of delta rules
  bool windows = false;         ///< a sliding window is read from its metadata
  bool windows_opt_in = false;  ///< `use_sliding_window` says that there is one
  bool windows_stated = false;  ///< a file that does not name one has none, whatever the family's default
  double theta = 10000.0;       ///< of rope.freq_base where it is absent
  bool yarn_truncates = true;   ///< `truncate` of YaRN, which files have no key for
  bool experts = false;         ///< reads expert_count and so on
  std::string_view expert_width =
      "moe_intermediate_size";      ///< config.json's key of expert_feed_forward_length
  bool normalised_experts = false;  ///< `norm_topk_prob`, which files have no key for
  /// `query_pre_attn_scalar`, which files have no key for, is the head size, but the width of a head in the
  /// residual stream in the model of so many layers; 0: the family has none.
  int query_scalar_layers = 0;
  bool qkv_bias_always = false;                        ///< its biases have no key
  std::string_view attention_bias = "attention_bias";  ///< config.json's key of them
  std::string_view output_bias;  ///< config.json's key of that of attention's output, where it has one
  bool mlp_bias = false;         ///< `mlp_bias` is read
  bool rotary_share = false;     ///< `partial_rotary_factor` is said even where it is 1
  bool layer_thetas = false;     ///< attention.rope_pattern says which layers rotate
  bool query_growth = false;     ///< reads `llama_4_scaling_beta` from attention.temperature_scale
  bool conv = false;             ///< layers without keys and values are short convolutions
  bool mamba = false;            ///< they are Mamba2's
  bool nope = false;             ///< rope.scaling.finetuned says whether layers rotate
  bool shared_expert = false;  ///< expert_shared_feed_forward_length is Granite's `shared_intermediate_size`
  bool delta = false;          ///< recurrent layers are gated delta rules
  /// Each layer is one block, as its numbers of key heads and of the feed-forward's columns say.
  bool single_blocks = false;
  bool drafts = false;             ///< layers that draft come last
  bool delta_interleaved = false;  ///< their value heads are ordered by RecurrentSpec::interleaved
  /// Layer names, GGUF's and Hugging Face's, where they differ from the usual ones.
  std::span<const std::pair<std::string_view, std::string_view>> names = {};
};

/// What a file has, where models of several families share an architecture.
struct GgufTraits {
  bool experts = false;       ///< "llama" is Mixtral then,
  bool window = false;        ///< "llama" Mistral, "olmo2" OLMo 3,
  bool query_growth = false;  ///< and "mistral3" Ministral 3, otherwise Mistral
};

/// Whether a tensor is a short convolution's: [channels, taps], where Hugging Face has [channels, 1, taps].
constexpr bool are_gguf_taps(std::string_view name) {
  return name.ends_with(".shortconv.conv.weight") || name.ends_with(".ssm_conv1d.weight");
}

/// Whether a tensor is a vector in Hugging Face's files and a matrix in GGUF's: numbers of Mamba2's heads
/// [heads, 1] and weights of its norm [groups, width]. Of a delta rule they are vectors in both.
constexpr bool is_vector_of_mamba(std::string_view name) {
  return name.ends_with(".ssm_a") || name.ends_with(".ssm_d") || name.ends_with(".ssm_norm.weight");
}

/// What is added to a tensor's values.
constexpr float gguf_offset(const GgufArchitecture& architecture, std::string_view gguf_name) {
  const bool added = gguf_name.ends_with("norm.weight") && !gguf_name.ends_with(".ssm_norm.weight");
  return added ? architecture.norm_offset : 0.0f;
}

std::span<const GgufArchitecture> gguf_architectures();
/// By general.architecture. nullptr for one whose models this project does not run.
const GgufArchitecture* find_gguf_architecture(std::string_view name, const GgufTraits& traits = {});

}  // namespace augur
