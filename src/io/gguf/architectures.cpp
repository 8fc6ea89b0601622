#include "io/gguf/architectures.h"

#include <array>

namespace augur {

namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamePair, 3> kNormsOnBothSides = {{
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
}};

constexpr std::array kArchitectures = {
    GgufArchitecture{
        .name = "llama", .model_type = "llama", .model_class = "LlamaForCausalLM", .interleaved = true},
    GgufArchitecture{.name = "qwen2",
                     .model_type = "qwen2",
                     .model_class = "Qwen2ForCausalLM",
                     .qkv_bias_always = true},
    GgufArchitecture{.name = "qwen3", .model_type = "qwen3", .model_class = "Qwen3ForCausalLM"},
    GgufArchitecture{.name = "gemma2",
                     .model_type = "gemma2",
                     .model_class = "Gemma2ForCausalLM",
                     .activation = "gelu_pytorch_tanh",
                     .norm_offset = 1.0f,
                     .windows = true,
                     .names = kNormsOnBothSides},
    GgufArchitecture{.name = "gemma3",
                     .model_type = "gemma3_text",
                     .model_class = "Gemma3ForCausalLM",
                     .activation = "gelu_pytorch_tanh",
                     .norm_offset = 1.0f,
                     .windows = true,
                     .names = kNormsOnBothSides},
};

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() {
  return kArchitectures;
}

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
  }
  return nullptr;
}

}  // namespace augur
