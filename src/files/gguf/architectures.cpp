#include "files/gguf/architectures.h"

#include <algorithm>
#include <array>

namespace augur {

namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamePair, 3> kNormsOnBothSides = {{
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
}};

constexpr std::array<NamePair, 2> kNormsAfter = {{
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
}};

constexpr std::array<NamePair, 1> kSinks = {{
    {"attn_sinks", "self_attn.sinks"},
}};

constexpr std::array<NamePair, 3> kGlm4 = {{
    {"post_attention_norm", "post_self_attn_layernorm"},
    {"post_ffw_norm", "post_mlp_layernorm"},
    {"ffn_up", "mlp.gate_up_proj"},
}};

constexpr std::array<NamePair, 2> kHunyuan = {{
    {"attn_q_norm", "self_attn.query_layernorm"},
    {"attn_k_norm", "self_attn.key_layernorm"},
}};

/// Of a model that has its norms before the blocks.
constexpr std::array<NamePair, 1> kSecondNorm = {{
    {"post_attention_norm", "post_attention_layernorm"},
}};

constexpr std::array<NamePair, 2> kFused = {{
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_up", "mlp.gate_up_proj"},
}};

/// Qwen's, of which those before Qwen3 share one.
constexpr std::array<NamePair, 8> kExperts = {{
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
}};

constexpr std::array<NamePair, 6> kGptOss = {{
    {"post_attention_norm", "post_attention_layernorm"},
    {"attn_sinks", "self_attn.sinks"},
    {"ffn_gate_inp", "mlp.router"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
}};

constexpr std::array<NamePair, 4> kMixtral = {{
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.w1"},
    {"ffn_up_exps", "block_sparse_moe.experts.w3"},
    {"ffn_down_exps", "block_sparse_moe.experts.w2"},
}};

constexpr std::array<NamePair, 16> kLfm2 = {{
    {"attn_norm", "operator_norm"},
    {"attn_output", "self_attn.out_proj"},
    {"attn_q_norm", "self_attn.q_layernorm"},
    {"attn_k_norm", "self_attn.k_layernorm"},
    {"ffn_norm", "ffn_norm"},
    {"ffn_gate", "feed_forward.w1"},
    {"ffn_up", "feed_forward.w3"},
    {"ffn_down", "feed_forward.w2"},
    {"shortconv.in_proj", "conv.in_proj"},
    {"shortconv.conv", "conv.conv"},
    {"shortconv.out_proj", "conv.out_proj"},
    {"ffn_gate_inp", "feed_forward.gate"},
    {"exp_probs_b", "feed_forward.expert_bias"},
    {"ffn_gate_exps", "feed_forward.experts.w1"},
    {"ffn_up_exps", "feed_forward.experts.w3"},
    {"ffn_down_exps", "feed_forward.experts.w2"},
}};

constexpr std::array<NamePair, 21> kDelta = {{
    {"post_attention_norm", "post_attention_layernorm"},
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_in", "linear_attn.in_proj_qkvz"},  // of older files
    {"ssm_ba", "linear_attn.in_proj_ba"},
    {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_a", "linear_attn.A"},  // neither with a suffix
    {"ssm_dt", "linear_attn.dt_bias"},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_gate_up_exps", "mlp.experts.gate_up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
}};

constexpr std::array<NamePair, 7> kMamba = {{
    {"ssm_in", "mamba.in_proj"},
    {"ssm_conv1d", "mamba.conv1d"},
    {"ssm_a", "mamba.A"},  // neither with a suffix, and so below
    {"ssm_d", "mamba.D"},
    {"ssm_dt", "mamba.dt_bias"},
    {"ssm_norm", "mamba.norm"},
    {"ssm_out", "mamba.out_proj"},
}};

constexpr std::array<NamePair, 7> kGraniteExperts = {{
    {"ffn_gate_inp", "block_sparse_moe.router.layer"},
    {"ffn_gate_exps", "block_sparse_moe.experts.gate_proj"},
    {"ffn_up_exps", "block_sparse_moe.experts.up_proj"},
    {"ffn_down_exps", "block_sparse_moe.experts.down_proj"},
    {"ffn_gate_shexp", "mlp.gate_proj"},
    {"ffn_up_shexp", "mlp.up_proj"},
    {"ffn_down_shexp", "mlp.down_proj"},
}};

template <std::size_t A, std::size_t B>
constexpr std::array<NamePair, A + B> joined(const std::array<NamePair, A>& a,
                                             const std::array<NamePair, B>& b) {
  std::array<NamePair, A + B> both;
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), both.begin()));
  return both;
}
constexpr auto kMambaExperts = joined(kMamba, kGraniteExperts);

constexpr std::array<NamePair, 22> kNemotron = {{
    {"attn_norm", "norm"},
    {"attn_q", "mixer.q_proj"},
    {"attn_k", "mixer.k_proj"},
    {"attn_v", "mixer.v_proj"},
    {"attn_output", "mixer.o_proj"},
    {"ffn_up", "mixer.up_proj"},
    {"ffn_down", "mixer.down_proj"},
    {"ffn_gate_inp", "mixer.gate"},
    {"exp_probs_b", "mixer.gate.e_score_correction_bias"},
    {"ffn_up_exps", "mixer.experts.up_proj"},
    {"ffn_down_exps", "mixer.experts.down_proj"},
    {"ffn_up_shexp", "mixer.shared_experts.up_proj"},
    {"ffn_down_shexp", "mixer.shared_experts.down_proj"},
    {"ffn_latent_down", "mixer.fc1_latent_proj"},
    {"ffn_latent_up", "mixer.fc2_latent_proj"},
    {"ssm_in", "mixer.in_proj"},
    {"ssm_conv1d", "mixer.conv1d"},
    {"ssm_a", "mixer.A"},
    {"ssm_d", "mixer.D"},
    {"ssm_dt", "mixer.dt_bias"},
    {"ssm_norm", "mixer.norm"},
    {"ssm_out", "mixer.out_proj"},
}};

constexpr std::array kArchitectures = {
    GgufArchitecture{.name = "llama",
                     .model_type = "llama",
                     .model_class = "LlamaForCausalLM",
                     .interleaved = true,
                     .mlp_bias = true},
    GgufArchitecture{.name = "llama",
                     .model_type = "mistral",
                     .model_class = "MistralForCausalLM",
                     .interleaved = true,
                     .windows = true,
                     .windows_stated = true},
    GgufArchitecture{.name = "qwen2",
                     .model_type = "qwen2",
                     .model_class = "Qwen2ForCausalLM",
                     .windows = true,
                     .windows_opt_in = true,
                     .windows_stated = true,
                     .qkv_bias_always = true},
    GgufArchitecture{.name = "qwen3",
                     .model_type = "qwen3",
                     .model_class = "Qwen3ForCausalLM",
                     .windows = true,
                     .windows_opt_in = true,
                     .windows_stated = true},
    GgufArchitecture{.name = "gemma2",
                     .model_type = "gemma2",
                     .model_class = "Gemma2ForCausalLM",
                     .activation = "gelu_pytorch_tanh",
                     .norm_offset = 1.0f,
                     .windows = true,
                     .query_scalar_layers = 46,
                     .names = kNormsOnBothSides},
    GgufArchitecture{.name = "gemma3",
                     .model_type = "gemma3_text",
                     .model_class = "Gemma3ForCausalLM",
                     .activation = "gelu_pytorch_tanh",
                     .norm_offset = 1.0f,
                     .windows = true,
                     .windows_stated = true,
                     .theta = 1e6,
                     .query_scalar_layers = 62,
                     .names = kNormsOnBothSides},
    GgufArchitecture{.name = "phi3",
                     .model_type = "phi3",
                     .model_class = "Phi3ForCausalLM",
                     .windows = true,
                     .names = kFused},
    GgufArchitecture{.name = "smollm3",
                     .model_type = "smollm3",
                     .model_class = "SmolLM3ForCausalLM",
                     .interleaved = true,
                     .windows = true,
                     .windows_opt_in = true,
                     .windows_stated = true,
                     .mlp_bias = true},
    GgufArchitecture{.name = "granite",
                     .model_type = "granite",
                     .model_class = "GraniteForCausalLM",
                     .interleaved = true,
                     .mlp_bias = true,
                     .nope = true},
    GgufArchitecture{.name = "granitehybrid",
                     .model_type = "granitemoehybrid",
                     .model_class = "GraniteMoeHybridForCausalLM",
                     .interleaved = true,
                     .mamba = true,
                     .nope = true,
                     .shared_expert = true,
                     .names = kMamba},
    GgufArchitecture{.name = "granitehybrid",
                     .model_type = "granitemoehybrid",
                     .model_class = "GraniteMoeHybridForCausalLM",
                     .interleaved = true,
                     .experts = true,
                     .expert_width = "intermediate_size",
                     .mamba = true,
                     .nope = true,
                     .shared_expert = true,
                     .names = kMambaExperts},
    GgufArchitecture{.name = "granite_swa",
                     .model_type = "granite_swa",
                     .model_class = "GraniteSWAForCausalLM",
                     .interleaved = true,
                     .windows = true,
                     .mlp_bias = true,
                     .layer_thetas = true,
                     .names = kSinks},
    GgufArchitecture{
        .name = "olmo2", .model_type = "olmo2", .model_class = "Olmo2ForCausalLM", .names = kNormsAfter},
    GgufArchitecture{.name = "olmo2",
                     .model_type = "olmo3",
                     .model_class = "Olmo3ForCausalLM",
                     .windows = true,
                     .theta = 500000.0,
                     .names = kNormsAfter},
    GgufArchitecture{.name = "mistral3",
                     .model_type = "mistral",
                     .model_class = "MistralForCausalLM",
                     .interleaved = true,
                     .windows = true,
                     .windows_stated = true},
    GgufArchitecture{.name = "mistral3",
                     .model_type = "ministral3",
                     .model_class = "Ministral3ForCausalLM",
                     .interleaved = true,
                     .windows = true,
                     .windows_stated = true,
                     .query_growth = true},
    GgufArchitecture{.name = "chatglm",
                     .model_type = "glm",
                     .model_class = "GlmForCausalLM",
                     .rotary_share = true,
                     .names = kFused},
    GgufArchitecture{.name = "glm4",
                     .model_type = "glm4",
                     .model_class = "Glm4ForCausalLM",
                     .rotary_share = true,
                     .names = kGlm4},
    GgufArchitecture{.name = "ernie4_5",
                     .model_type = "ernie4_5",
                     .model_class = "Ernie4_5ForCausalLM",
                     .attention_bias = "use_bias"},
    GgufArchitecture{.name = "hunyuan-dense",
                     .model_type = "hunyuan_v1_dense",
                     .model_class = "HunYuanDenseV1ForCausalLM",
                     .names = kHunyuan},
    GgufArchitecture{.name = "seed_oss",
                     .model_type = "seed_oss",
                     .model_class = "SeedOssForCausalLM",
                     .output_bias = "attention_out_bias",
                     .mlp_bias = true,
                     .names = kSecondNorm},
    GgufArchitecture{.name = "qwen3moe",
                     .model_type = "qwen3_moe",
                     .model_class = "Qwen3MoeForCausalLM",
                     .windows = true,
                     .windows_opt_in = true,
                     .windows_stated = true,
                     .experts = true,
                     .normalised_experts = true,
                     .names = kExperts},
    GgufArchitecture{.name = "qwen2moe",
                     .model_type = "qwen2_moe",
                     .model_class = "Qwen2MoeForCausalLM",
                     .windows = true,
                     .windows_opt_in = true,
                     .windows_stated = true,
                     .experts = true,
                     .qkv_bias_always = true,
                     .names = kExperts},
    GgufArchitecture{.name = "gpt-oss",
                     .model_type = "gpt_oss",
                     .model_class = "GptOssForCausalLM",
                     .windows = true,
                     .yarn_truncates = false,
                     .experts = true,
                     .expert_width = "intermediate_size",
                     .qkv_bias_always = true,
                     .names = kGptOss},
    GgufArchitecture{.name = "llama",
                     .model_type = "mixtral",
                     .model_class = "MixtralForCausalLM",
                     .interleaved = true,
                     .windows = true,
                     .windows_stated = true,
                     .experts = true,
                     .names = kMixtral},
    GgufArchitecture{.name = "lfm2",
                     .model_type = "lfm2",
                     .model_class = "Lfm2ForCausalLM",
                     .theta = 1e6,
                     .conv = true,
                     .names = kLfm2},
    GgufArchitecture{.name = "lfm2moe",
                     .model_type = "lfm2_moe",
                     .model_class = "Lfm2MoeForCausalLM",
                     .theta = 1e6,
                     .experts = true,
                     .normalised_experts = true,
                     .conv = true,
                     .names = kLfm2},
    GgufArchitecture{.name = "qwen3next",
                     .model_type = "qwen3_next",
                     .model_class = "Qwen3NextForCausalLM",
                     .norm_offset = 1.0f,
                     .experts = true,
                     .normalised_experts = true,
                     .rotary_share = true,
                     .delta = true,
                     .drafts = true,
                     .names = kDelta},
    GgufArchitecture{.name = "qwen35",
                     .model_type = "qwen3_5_text",
                     .model_class = "Qwen3_5ForCausalLM",
                     .norm_offset = 1.0f,
                     .rotary_share = true,
                     .delta = true,
                     .drafts = true,
                     .delta_interleaved = true,
                     .names = kDelta},
    GgufArchitecture{.name = "qwen35moe",
                     .model_type = "qwen3_5_moe_text",
                     .model_class = "Qwen3_5MoeForCausalLM",
                     .norm_offset = 1.0f,
                     .experts = true,
                     .normalised_experts = true,
                     .rotary_share = true,
                     .delta = true,
                     .drafts = true,
                     .delta_interleaved = true,
                     .names = kDelta},
    GgufArchitecture{.name = "nemotron_h",
                     .model_type = "nemotron_h",
                     .model_class = "NemotronHForCausalLM",
                     .activation = "relu2",
                     .mlp_bias = true,
                     .mamba = true,
                     .single_blocks = true,
                     .names = kNemotron},
    GgufArchitecture{.name = "nemotron_h_moe",
                     .model_type = "nemotron_h",
                     .model_class = "NemotronHForCausalLM",
                     .activation = "relu2",
                     .experts = true,
                     .mamba = true,
                     .single_blocks = true,
                     .drafts = true,
                     .names = kNemotron},
};

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() {
  return kArchitectures;
}

const GgufArchitecture* find_gguf_architecture(std::string_view name, const GgufTraits& traits) {
  const GgufArchitecture* found = nullptr;
  const auto fit = [&](const GgufArchitecture& row) {  // experts are not to be left out
    return (row.experts == traits.experts ? 4 : 0) + (row.query_growth == traits.query_growth ? 2 : 0) +
           (row.windows == traits.window ? 1 : 0);
  };
  for (const GgufArchitecture& row : kArchitectures) {
    if (row.name == name && (found == nullptr || fit(row) > fit(*found))) found = &row;
  }
  return found;
}

}  // namespace augur
