#include <algorithm>
#include <array>
#include <utility>

#include "files/bare_tensors.h"
#include "files/gguf/model.h"

namespace augur {

namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamePair, 4> kGlobal = {{
    {"token_embd", "model.embed_tokens"},
    {"token_embd_norm", "model.embedding_norm"},  // LFM2's last
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
}};

constexpr std::array<NamePair, 11> kLayer = {{
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
}};

std::string_view translate_back(std::span<const NamePair> table, std::string_view part) {
  for (const auto& [gguf, hugging_face] : table) {
    if (hugging_face == part) return gguf;
  }
  return {};
}

std::string_view translate(std::span<const NamePair> table, std::string_view part) {
  for (const auto& [gguf, hugging_face] : table) {
    if (gguf == part) return hugging_face;
  }
  return {};
}

}  // namespace

std::string hugging_face_name(const GgufArchitecture& architecture, std::string_view gguf_name) {
  const auto dot = gguf_name.rfind('.');  // ".weight" or ".bias"
  if (dot == std::string_view::npos) return std::string(gguf_name);
  const auto stem = gguf_name.substr(0, dot);
  const auto suffix = gguf_name.substr(dot);
  if (const auto found = translate(kGlobal, stem); !found.empty()) return std::string(found).append(suffix);
  if (!stem.starts_with("blk.")) return std::string(gguf_name);
  const auto rest = stem.substr(4);
  const auto layer = rest.substr(0, rest.find('.'));
  const bool is_number =
      !layer.empty() && std::all_of(layer.begin(), layer.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number || layer.size() == rest.size()) return std::string(gguf_name);
  const auto part = rest.substr(layer.size() + 1);
  auto found = translate(architecture.names, part);
  if (found.empty()) found = translate(kLayer, part);
  if (found.empty()) return std::string(gguf_name);
  return std::string("model.layers.").append(layer).append(".").append(found).append(suffix);
}

std::string gguf_tensor_name(const GgufArchitecture& architecture, std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  for (const BareTensor& bare : kBareTensors) {
    if (name.ends_with(bare.name))
      return gguf_tensor_name(architecture, std::string(name).append(bare.suffix));
  }
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const auto stem = name.substr(0, dot);
  const auto suffix = name.substr(dot);
  if (const auto found = translate_back(kGlobal, stem); !found.empty()) {
    return std::string(found).append(suffix);
  }
  if (!stem.starts_with(kLayers)) return {};
  const auto rest = stem.substr(kLayers.size());
  const auto layer = rest.substr(0, rest.find('.'));
  if (layer.size() == rest.size()) return {};
  const auto part = rest.substr(layer.size() + 1);
  auto found = translate_back(architecture.names, part);
  if (found.empty()) found = translate_back(kLayer, part);
  if (found.empty()) return {};
  return std::string("blk.").append(layer).append(".").append(found).append(suffix);
}

}  // namespace augur
