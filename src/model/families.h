#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace augur {

/// Names of a family's tensors as Hugging Face writes them.
struct TensorNames {
  std::string_view embedding = "model.embed_tokens.weight";
  std::string_view final_norm = "model.norm.weight";
  std::string_view head = "lm_head.weight";
  std::string_view layer = "model.layers.{}.";  ///< "{}": which; before each of the names below
  std::string_view attention_norm = "input_layernorm.weight";
  std::string_view q = "self_attn.q_proj";  ///< + ".weight", ".bias", and so below
  std::string_view k = "self_attn.k_proj";
  std::string_view v = "self_attn.v_proj";
  std::string_view o = "self_attn.o_proj";
  std::string_view q_norm = "self_attn.q_norm.weight";
  std::string_view k_norm = "self_attn.k_norm.weight";
  std::string_view mlp_norm = "post_attention_layernorm.weight";
  std::string_view gate = "mlp.gate_proj";
  std::string_view up = "mlp.up_proj";
  std::string_view down = "mlp.down_proj";
};

/// How a family reads a bias: never there, always there, or said by a key of config.json (absent: false).
enum class BiasRule { Never, Always, Key };

/// When a family's attention is limited to a sliding window.
enum class WindowRule {
  Never,
  Always,  ///< `sliding_window` holds for all layers unless it is null
  OptIn,   ///< only with `use_sliding_window`, and for the layers from `max_window_layers` on
};

/// What distinguishes one family of decoders from the others. Defaults are those of Hugging Face's
/// configuration class, for keys that config.json leaves out.
struct Family {
  std::string_view name;  ///< config.json's `model_type`
  std::string_view gguf;  ///< what GGUF calls it: Mistral's models are Llama's there
  std::int64_t default_context = 0;
  int default_kv_heads =
      0;  ///< when the key is absent; 0: as many as heads. An explicit null means that, too
  int default_head_dim = 0;             ///< 0: hidden_size / num_attention_heads
  BiasRule qkv_bias = BiasRule::Never;  ///< key `attention_bias`
  BiasRule o_bias = BiasRule::Never;    ///< key `attention_bias`
  BiasRule mlp_bias = BiasRule::Never;  ///< key `mlp_bias`
  bool qk_norm = false;
  WindowRule window = WindowRule::Never;
  TensorNames names = {};
};

std::span<const Family> families();
/// nullptr when this project does not implement it.
const Family* find_family(std::string_view model_type);
/// What GGUF calls a family; the name itself for one that this project does not implement.
std::string_view gguf_architecture(std::string_view family);

}  // namespace augur
