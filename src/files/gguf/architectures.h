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
  float norm_offset = 0.0f;     ///< is added to the weights of all norms
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
  bool qkv_bias_always = false;  ///< its biases have no key
  /// Layer names, GGUF's and Hugging Face's, where they differ from the usual ones.
  std::span<const std::pair<std::string_view, std::string_view>> names = {};
};

std::span<const GgufArchitecture> gguf_architectures();
/// By general.architecture; `experts`, `window`: the file has some, which for "llama" is another model
/// (Mixtral, Mistral). nullptr for one whose models this project does not run.
const GgufArchitecture* find_gguf_architecture(std::string_view name, bool experts = false,
                                               bool window = false);

}  // namespace augur
