#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "model/layer_spec.h"

namespace augur {

/// Names of a family's tensors as Hugging Face writes them. Empty: the family has none.
struct TensorNames {
  std::string_view embedding = "model.embed_tokens.weight";
  std::string_view final_norm = "model.norm.weight";
  std::string_view head = "lm_head.weight";
  std::string_view layer = "model.layers.{}.";  ///< "{}": which; before each of the names below
  std::string_view attention_norm = "input_layernorm.weight";  ///< where NormPlace is not After
  std::string_view attention_after_norm = "post_attention_layernorm.weight";  ///< where it is not Before
  std::string_view q = "self_attn.q_proj";  ///< + ".weight", ".bias", and so below
  std::string_view k = "self_attn.k_proj";
  std::string_view v = "self_attn.v_proj";
  std::string_view o = "self_attn.o_proj";
  std::string_view q_norm = "self_attn.q_norm.weight";
  std::string_view k_norm = "self_attn.k_norm.weight";
  std::string_view sinks = "self_attn.sinks";
  std::string_view mlp_norm = "post_attention_layernorm.weight";
  std::string_view mlp_after_norm = "post_feedforward_layernorm.weight";
  std::string_view gate = "mlp.gate_proj";
  std::string_view up = "mlp.up_proj";
  std::string_view down = "mlp.down_proj";
  std::string_view router = "mlp.gate";
  std::string_view choice_bias = "mlp.expert_bias";  ///< where ExpertSpec::chosen_by_bias
  std::string_view expert = "mlp.experts.{}.";       ///< before the three below
  std::string_view expert_gate = "gate_proj";
  std::string_view expert_up = "up_proj";
  std::string_view expert_down = "down_proj";
  std::string_view latent_in = "mixer.fc1_latent_proj";  ///< where ExpertSpec::latent
  std::string_view latent_out = "mixer.fc2_latent_proj";
  std::string_view shared_gate = "mlp.shared_expert.gate_proj";  ///< of the expert that all rows go to
  std::string_view shared_up = "mlp.shared_expert.up_proj";
  std::string_view shared_down = "mlp.shared_expert.down_proj";
  std::string_view shared_scale = "mlp.shared_expert_gate.weight";
  std::string_view conv_in = "conv.in_proj";  ///< the first product: b, c, x
  std::string_view conv_taps = "conv.conv";   ///< [hidden, 1, taps]
  std::string_view conv_out = "conv.out_proj";
  std::string_view delta_qkv = "linear_attn.in_proj_qkv";  ///< a delta rule's queries, keys, values
  std::string_view delta_z = "linear_attn.in_proj_z";
  std::string_view delta_b = "linear_attn.in_proj_b";
  std::string_view delta_a = "linear_attn.in_proj_a";
  std::string_view delta_qkvz = "linear_attn.in_proj_qkvz";  ///< all these in two, by key head
  std::string_view delta_ba = "linear_attn.in_proj_ba";
  std::string_view mamba_in = "mamba.in_proj";             ///< Mamba2's first product
  std::string_view mamba_skip = "mamba.D";                 ///< no suffix
  std::string_view recurrent_taps = "linear_attn.conv1d";  ///< [channels, 1, taps]
  std::string_view recurrent_log = "linear_attn.A_log";    ///< no suffix, and so below
  std::string_view recurrent_decay = "linear_attn.A";      ///< -exp of it, which GGUF files have
  std::string_view recurrent_bias = "linear_attn.dt_bias";
  std::string_view recurrent_norm = "linear_attn.norm.weight";
  std::string_view recurrent_out = "linear_attn.out_proj";
  std::string_view drafting = "mtp.";  ///< of layers behind the last, which only draft
};

/// How a family reads a bias: never there, always there, or said by a key of config.json.
enum class BiasRule {
  Never,
  Always,
  Key,     ///< absent: false
  OptOut,  ///< absent: true
};

/// Which of a family's layers see a sliding window only. `layer_types` is followed where it is given.
enum class WindowRule {
  Never,
  Always,   ///< all, `sliding_window` tokens, unless that is null
  OptIn,    ///< only with `use_sliding_window`, and the layers from `max_window_layers` on
  Pattern,  ///< all but every `sliding_window_pattern`-th
};

/// How a family says that layers have experts.
enum class ExpertRule {
  None,
  Mixtral,  ///< all layers, of `intermediate_size`
  Granite,  ///< all layers, of `intermediate_size`, and one of `shared_intermediate_size` without a gate;
            ///< softmax over the chosen ones only; none where `num_local_experts` is 0
  GptOss,   ///< all layers, of `intermediate_size`, with biases; softmax over the chosen ones only
  Qwen,     ///< by `decoder_sparse_step` and `mlp_only_layers`, of `moe_intermediate_size`
  QwenAll,  ///< all layers, of `moe_intermediate_size`, with normalised shares
  Pattern,  ///< as Family::single_blocks says, of `moe_intermediate_size`, shared by sigmoids
  Lfm2,     ///< from `num_dense_layers` on, of `moe_intermediate_size`, shared by sigmoids
};

/// config.json's keys of Mamba2's layers, and what they mean where they are absent. "mamba_proj_bias" and
/// "time_step_limit" are everybody's.
struct MambaKeys {
  const char* heads;
  const char* groups;  ///< RecurrentSpec::key_heads
  const char* state;   ///< RecurrentSpec::key_dim
  const char* head_dim;
  const char* taps;
  const char* conv_bias;
  const char* expand;              ///< all heads' width, in times hidden_size
  bool expands;                    ///< it must be, not only where head_dim is absent
  const char* bias = nullptr;      ///< of both products, beside mamba_proj_bias
  const char* step_min = nullptr;  ///< the least step
  int default_heads = 128, default_groups = 1, default_state = 128;
  int default_head_dim = 0;  ///< 0: by `expand`
  double default_step_min = 0;
};

/// What distinguishes one family of decoders from the others: how config.json becomes LayerSpecs, and what
/// tensors are called. Defaults are those of Hugging Face's configuration class, for keys that config.json
/// leaves out.
struct Family {
  std::string_view name;               ///< config.json's `model_type`
  std::string_view alias = {};         ///< the multimodal model's, where a text model may call itself that
  std::string_view gguf;               ///< what GGUF calls it: Mistral's models are Llama's there
  std::string_view gguf_hybrid = {};   ///< where it calls those with states otherwise
  std::string_view gguf_experts = {};  ///< and those with experts
  std::int64_t default_context = 0;
  int default_kv_heads =
      0;  ///< when the key is absent; 0: as many as heads. An explicit null means that, too
  int default_head_dim = 0;  ///< 0: hidden_size / num_attention_heads
  double default_theta = 10000.0;
  double default_eps = 1e-6;                       ///< of the norms
  const char* intermediate = "intermediate_size";  ///< the key
  bool adjusted_intermediate = false;              ///< reads LFM2's `block_…` keys in its place
  const char* norm_eps = "rms_norm_eps";           ///< its key
  bool tied = false;                               ///< `tie_word_embeddings` where it is absent

  // The layer
  NormPlace norms = NormPlace::Before;
  float norm_offset = 0.0f;  ///< 1: norms multiply by 1 + weight
  QkNorm qk_norm = QkNorm::None;
  bool norms_rotated = false;  ///< LayerSpec::norms_rotated
  BiasRule qkv_bias = BiasRule::Never;
  BiasRule o_bias = BiasRule::Never;
  BiasRule mlp_bias = BiasRule::Never;
  const char* qkv_bias_key = "attention_bias";
  const char* o_bias_key = "attention_bias";
  const char* mlp_bias_key = "mlp_bias";
  /// Where `hidden_act` and `hidden_activation` are absent. SquaredRelu and ClampedSwiglu: always.
  Activation activation = Activation::Silu;
  WindowRule window = WindowRule::Never;
  std::int64_t default_window = 4096;
  int window_pattern = 0;   ///< with WindowRule::Pattern, where the key is absent
  bool full_first = false;  ///< then the first of so many layers sees all, not the last
  /// Linear rope scaling is counted in `max_position_embeddings`, which elsewhere is the length without it.
  bool scaled_positions = false;
  /// Windowed layers rotate unscaled, by `rope_local_base_freq`, or `local_theta` where that is absent, or
  /// the others' base where that is 0.
  bool local_rotation = false;
  double local_theta = 0.0;
  bool layer_thetas = false;  ///< `layer_rope_theta` may have each layer's base, 0 for none
  double rotary_share = 1.0;  ///< of a head, where `partial_rotary_factor` is absent
  bool rotates_neighbours =
      false;                    ///< files have the two dimensions of a rotation side by side (RotaryOrder)
  bool fixed_alpha = false;     ///< dynamic rope scaling with `alpha` is a larger base (Hunyuan)
  bool query_growth = false;    ///< reads `llama_4_scaling_beta`
  bool sinks = false;           ///< attention has them
  bool nope = false;            ///< `position_embedding_type` may say that nothing rotates,
  bool rotates = true;          ///< and this what its absence means
  int rope_interval = 0;        ///< > 0: every so many-th layer does not rotate (`no_rope_layers`)
  double query_scalar = 0.0;    ///< > 0: scores are scaled by 1 / sqrt(`query_pre_attn_scalar`), or this
  double score_cap = 0.0;       ///< of `attn_logit_softcapping` where it is absent
  double logit_cap = 0.0;       ///< of `final_logit_softcapping` where it is absent
  bool caps = false;            ///< reads those two
  bool root_embedding = false;  ///< embeddings are scaled by sqrt(hidden_size)
  bool multipliers = false;     ///< reads Granite's four: `embedding_multiplier` and so on
  bool conv = false;            ///< `layer_types` or `full_attn_idxs` say which layers are short convolutions
  /// `layer_types` or `full_attention_interval` say which layers are gated delta rules, the `linear_…` keys
  /// how large they are; the others' attention is gated.
  bool delta = false;
  bool delta_by_key_head = false;  ///< folders have `in_proj_qkvz` and `in_proj_ba`
  /// `layer_types` says which layers are Mamba2's; where it is absent all are.
  const MambaKeys* mamba = nullptr;
  /// `layers_block_type` or `hybrid_override_pattern` say which block each layer is; none rotates.
  bool single_blocks = false;
  ExpertRule experts = ExpertRule::None;
  bool normalised_experts = false;  ///< `norm_topk_prob` where it is absent
  bool shared_expert = false;       ///< reads `shared_expert_intermediate_size`
  TensorNames names = {};
};

std::span<const Family> families();
/// nullptr when this project does not implement it.
const Family* find_family(std::string_view model_type);
/// What GGUF calls a family; the name itself for one that this project does not implement.
std::string_view gguf_architecture(std::string_view family);

}  // namespace augur
