#include "model/families.h"

#include <array>

namespace augur {

namespace {

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
        .qkv_bias = BiasRule::Key,
        .o_bias = BiasRule::Key,
        .qk_norm = true,
        .window = WindowRule::OptIn,
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
