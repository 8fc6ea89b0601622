#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
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

/// Of layers that draft; their blocks have the usual names.
constexpr std::array<NamePair, 6> kDrafting = {{
    {"nextn.eh_proj", "fc"},
    {"nextn.enorm", "pre_fc_norm_embedding"},
    {"nextn.hnorm", "pre_fc_norm_hidden"},
    {"nextn.shared_head_norm", "norm"},
    {"nextn.embed_tokens", "embed_tokens"},
    {"nextn.shared_head_head", "lm_head"},
}};

// Tensors that have no suffix in either.
constexpr std::array<std::string_view, 2> kBare = {".ssm_a", ".ssm_d"};
constexpr std::array<std::string_view, 5> kBareNames = {".linear_attn.A", ".mamba.A", ".mamba.D", ".mixer.A",
                                                        ".mixer.D"};

bool ends_with_any(std::string_view name, std::span<const std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

std::optional<std::int64_t> number_in(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return text.size() <= kMostDigits && text.front() != '-' ? std::optional(number) : std::nullopt;
}

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

std::string hugging_face_name(const GgufArchitecture& architecture, std::string_view gguf_name,
                              std::int64_t layers) {
  if (ends_with_any(gguf_name, kBare)) {
    std::string name = hugging_face_name(architecture, std::string(gguf_name).append("."), layers);
    name.pop_back();
    return name;
  }
  const auto dot = gguf_name.rfind('.');  // ".weight" or ".bias"
  if (dot == std::string_view::npos) return std::string(gguf_name);
  const auto stem = gguf_name.substr(0, dot);
  const auto suffix = gguf_name.substr(dot);
  if (const auto found = translate(kGlobal, stem); !found.empty()) return std::string(found).append(suffix);
  if (!stem.starts_with("blk.")) return std::string(gguf_name);
  const auto rest = stem.substr(4);
  const auto layer = rest.substr(0, rest.find('.'));
  const std::optional<std::int64_t> number = number_in(layer);
  if (!number || layer.size() == rest.size()) return std::string(gguf_name);
  const auto part = rest.substr(layer.size() + 1);
  auto found = translate(architecture.names, part);
  if (found.empty()) found = translate(kLayer, part);
  if (architecture.drafts && *number >= layers) {
    const auto own = translate(kDrafting, part);
    if (!own.empty() && *number == layers) return std::string("mtp.").append(own).append(suffix);
    return fmt::format("mtp.layers.{}.{}{}", *number - layers, found.empty() ? part : found, suffix);
  }
  if (found.empty()) return std::string(gguf_name);
  return std::string("model.layers.").append(layer).append(".").append(found).append(suffix);
}

std::string gguf_tensor_name(const GgufArchitecture& architecture, std::string_view name,
                             std::int64_t layers) {
  constexpr std::string_view kLayers = "model.layers.";
  constexpr std::string_view kDraftingLayers = "mtp.layers.";
  if (ends_with_any(name, kBareNames)) {
    std::string found = gguf_tensor_name(architecture, std::string(name).append("."), layers);
    if (!found.empty()) found.pop_back();
    return found;
  }
  for (const BareTensor& bare : kBareTensors) {
    if (name.ends_with(bare.name))
      return gguf_tensor_name(architecture, std::string(name).append(bare.suffix), layers);
  }
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  const auto stem = name.substr(0, dot);
  const auto suffix = name.substr(dot);
  if (const auto found = translate_back(kGlobal, stem); !found.empty()) {
    return std::string(found).append(suffix);
  }
  const bool drafts = architecture.drafts && stem.starts_with("mtp.");
  if (drafts && !stem.starts_with(kDraftingLayers)) {
    const auto found = translate_back(kDrafting, stem.substr(4));
    return found.empty() ? std::string() : fmt::format("blk.{}.{}{}", layers, found, suffix);
  }
  if (!drafts && !stem.starts_with(kLayers)) return {};
  const auto rest = stem.substr(drafts ? kDraftingLayers.size() : kLayers.size());
  const auto layer = rest.substr(0, rest.find('.'));
  const std::optional<std::int64_t> number = number_in(layer);
  if (!number || layer.size() == rest.size()) return {};
  const auto part = rest.substr(layer.size() + 1);
  auto found = translate_back(architecture.names, part);
  if (found.empty()) found = translate_back(kLayer, part);
  if (found.empty()) return {};
  return fmt::format("blk.{}.{}{}", drafts ? layers + *number : *number, found, suffix);
}

}  // namespace augur
