#include "model/families.h"

#include <array>

namespace augur {

namespace {

constexpr TensorNames kGemmaNames = {
    .mlp_norm = "pre_feedforward_layernorm.weight",
};

constexpr TensorNames kGlm4Names = {
    .attention_after_norm = "post_self_attn_layernorm.weight",
    .mlp_after_norm = "post_mlp_layernorm.weight",
};

constexpr TensorNames kHunyuanNames = {
    .q_norm = "self_attn.query_layernorm.weight",
    .k_norm = "self_attn.key_layernorm.weight",
};

constexpr TensorNames kMixtralNames = {
    .router = "block_sparse_moe.gate",
    .expert = "block_sparse_moe.experts.{}.",
    .expert_gate = "w1",
    .expert_up = "w3",
    .expert_down = "w2",
};

constexpr TensorNames kLfm2Names = {
    .final_norm = "model.embedding_norm.weight",
    .attention_norm = "operator_norm.weight",
    .o = "self_attn.out_proj",
    .q_norm = "self_attn.q_layernorm.weight",
    .k_norm = "self_attn.k_layernorm.weight",
    .mlp_norm = "ffn_norm.weight",
    .gate = "feed_forward.w1",
    .up = "feed_forward.w3",
    .down = "feed_forward.w2",
    .router = "feed_forward.gate",
    .choice_bias = "feed_forward.expert_bias",
    .expert = "feed_forward.experts.{}.",
    .expert_gate = "w1",
    .expert_up = "w3",
    .expert_down = "w2",
};

// Vicuna, SmolLM2 and DeepSeek-R1-Distill-Llama call themselves llama; DeepSeek-R1-Distill-Qwen qwen2.
constexpr std::array kFamilies = {
    Family{
        .name = "llama",
        .gguf = "llama",
        .default_context = 2048,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .mlp_bias = BiasRule::Key,
    },
    Family{
        .name = "mistral",
        .gguf = "llama",
        .default_context = 131072,
        .default_kv_heads = 8,
        .window = WindowRule::Always,
    },
    Family{
        .name = "qwen2",
        .gguf = "qwen2",
        .default_context = 32768,
        .default_kv_heads = 32,
        .qkv_bias = BiasRule::Always,
        .window = WindowRule::OptIn,
    },
    Family{
        .name = "qwen3",
        .gguf = "qwen3",
        .default_context = 32768,
        .default_kv_heads = 32,
        .default_head_dim = 128,
        .qk_norm = QkNorm::PerHead,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .window = WindowRule::OptIn,
    },
    Family{
        .name = "gemma2",
        .gguf = "gemma2",
        .default_context = 8192,
        .default_kv_heads = 4,
        .default_head_dim = 256,
        .tied = true,
        .norms = NormPlace::Both,
        .norm_offset = 1.0f,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .activation = Activation::GeluTanh,
        .window = WindowRule::Pattern,
        .window_pattern = 2,
        .query_scalar = 256,
        .score_cap = 50,
        .logit_cap = 30,
        .caps = true,
        .root_embedding = true,
        .names = kGemmaNames,
    },
    Family{
        .name = "gemma3_text",
        .gguf = "gemma3",
        .default_context = 131072,
        .default_kv_heads = 4,
        .default_head_dim = 256,
        .default_theta = 1e6,
        .tied = true,
        .norms = NormPlace::Both,
        .norm_offset = 1.0f,
        .qk_norm = QkNorm::PerHead,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .activation = Activation::GeluTanh,
        .window = WindowRule::Pattern,
        .window_pattern = 6,
        .scaled_positions = true,
        .local_rotation = true,
        .local_theta = 10000,
        .query_scalar = 256,
        .caps = true,
        .root_embedding = true,
        .names = kGemmaNames,
    },
    // Phi-4-mini, too.
    Family{
        .name = "phi3",
        .gguf = "phi3",
        .default_context = 4096,
        .default_eps = 1e-5,
        .window = WindowRule::Always,
        .default_window = 0,
    },
    Family{
        .name = "smollm3",
        .gguf = "smollm3",
        .default_context = 32768,
        .default_kv_heads = 4,
        .default_theta = 2e6,
        .tied = true,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .mlp_bias = BiasRule::Key,
        .window = WindowRule::OptIn,
        .rope_interval = 4,
    },
    Family{
        .name = "granite",
        .gguf = "granite",
        .default_context = 2048,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .mlp_bias = BiasRule::Key,
        .multipliers = true,
    },
    // Granite 4: what it is without state-space layers and experts.
    Family{
        .name = "granitemoehybrid",
        .gguf = "granite",
        .default_context = 2048,
        .intermediate = "shared_intermediate_size",
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .nope = true,
        .multipliers = true,
    },
    Family{
        .name = "olmo2",
        .gguf = "olmo2",
        .default_context = 2048,
        .default_eps = 1e-5,
        .norms = NormPlace::After,
        .qk_norm = QkNorm::Whole,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
    },
    Family{
        .name = "olmo3",
        .gguf = "olmo2",
        .default_context = 2048,
        .default_theta = 500000.0,
        .default_eps = 1e-5,
        .norms = NormPlace::After,
        .qk_norm = QkNorm::Whole,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .window = WindowRule::Pattern,
        .window_pattern = 4,
        .local_rotation = true,
    },
    // Mistral Small 3 is a mistral, whose files llama.cpp calls mistral3, too.
    Family{
        .name = "ministral3",
        .gguf = "mistral3",
        .default_context = 262144,
        .default_kv_heads = 8,
        .default_head_dim = 128,
        .default_theta = 1e6,
        .default_eps = 1e-5,
        .window = WindowRule::Always,
        .default_window = 0,
        .query_growth = true,
    },
    Family{
        .name = "glm",
        .gguf = "chatglm",
        .default_context = 131072,
        .default_kv_heads = 2,
        .default_head_dim = 128,
        .default_eps = 1.5625e-7,
        .qkv_bias = BiasRule::OptOut,
        .rotary_share = 0.5,
        .rotates_neighbours = true,
    },
    Family{
        .name = "glm4",
        .gguf = "glm4",
        .default_context = 131072,
        .default_kv_heads = 2,
        .default_head_dim = 128,
        .default_eps = 1.5625e-7,
        .norms = NormPlace::Both,
        .qkv_bias = BiasRule::OptOut,
        .rotary_share = 0.5,
        .rotates_neighbours = true,
        .names = kGlm4Names,
    },
    Family{
        .name = "ernie4_5",
        .gguf = "ernie4_5",
        .default_context = 131072,
        .default_kv_heads = 2,
        .default_head_dim = 128,
        .default_theta = 500000.0,
        .default_eps = 1e-5,
        .tied = true,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .mlp_bias = BiasRule::Key,
        .qkv_bias_key = "use_bias",
        .o_bias_key = "use_bias",
        .mlp_bias_key = "use_bias",
        .rotates_neighbours = true,
    },
    Family{
        .name = "hunyuan_v1_dense",
        .gguf = "hunyuan-dense",
        .default_context = 2048,
        .default_eps = 1e-5,
        .qk_norm = QkNorm::PerHead,
        .norms_rotated = true,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .fixed_alpha = true,
        .names = kHunyuanNames,
    },
    Family{
        .name = "seed_oss",
        .gguf = "seed_oss",
        .default_context = 524288,
        .default_kv_heads = 8,
        .default_head_dim = 128,
        .qkv_bias = BiasRule::OptOut,
        .o_bias = BiasRule::Key,
        .mlp_bias = BiasRule::Key,
        .o_bias_key = "attention_out_bias",
    },
    Family{
        .name = "qwen3_moe",
        .gguf = "qwen3moe",
        .default_context = 32768,
        .default_kv_heads = 4,
        .default_head_dim = 128,
        .qk_norm = QkNorm::PerHead,
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .window = WindowRule::OptIn,
        .experts = ExpertRule::Qwen,
    },
    Family{
        .name = "qwen2_moe",
        .gguf = "qwen2moe",
        .default_context = 32768,
        .default_kv_heads = 16,
        .qkv_bias = BiasRule::Always,
        .window = WindowRule::OptIn,
        .experts = ExpertRule::Qwen,
        .shared_expert = true,
    },
    Family{
        .name = "mixtral",
        .gguf = "llama",
        .default_context = 131072,
        .default_kv_heads = 8,
        .default_theta = 1e6,
        .default_eps = 1e-5,
        .window = WindowRule::Always,
        .default_window = 0,
        .experts = ExpertRule::Mixtral,
        .names = kMixtralNames,
    },
    Family{
        .name = "gpt_oss",
        .gguf = "gpt-oss",
        .default_context = 131072,
        .default_kv_heads = 8,
        .default_head_dim = 64,
        .default_theta = 150000.0,
        .default_eps = 1e-5,
        .qkv_bias = BiasRule::Always,
        .o_bias = BiasRule::Always,
        .activation = Activation::ClampedSwiglu,
        .window = WindowRule::Pattern,
        .default_window = 128,
        .window_pattern = 2,
        .sinks = true,
        .experts = ExpertRule::GptOss,
        .names = {.router = "mlp.router"},
    },
    // LFM2.5, too.
    Family{
        .name = "lfm2",
        .gguf = "lfm2",
        .default_context = 128000,
        .default_kv_heads = 8,
        .default_theta = 1e6,
        .default_eps = 1e-5,
        .adjusted_intermediate = true,
        .norm_eps = "norm_eps",
        .tied = true,
        .qk_norm = QkNorm::PerHead,
        .conv = true,
        .names = kLfm2Names,
    },
    Family{
        .name = "lfm2_moe",
        .gguf = "lfm2moe",
        .default_context = 128000,
        .default_kv_heads = 8,
        .default_theta = 1e6,
        .default_eps = 1e-5,
        .norm_eps = "norm_eps",
        .tied = true,
        .qk_norm = QkNorm::PerHead,
        .conv = true,
        .experts = ExpertRule::Lfm2,
        .names = kLfm2Names,
    },
};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.name == model_type) return &family;
  }
  return nullptr;
}

std::string_view gguf_architecture(std::string_view family) {
  const Family* known = find_family(family);
  return known == nullptr ? family : known->gguf;
}

}  // namespace augur
