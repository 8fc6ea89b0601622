#pragma once
#include <array>
#include <string_view>

namespace augur {

/// A layer's vector that Hugging Face names without a suffix.
struct BareTensor {
  std::string_view name;    ///< what it ends with
  std::string_view suffix;  ///< what GGUF writes behind it
};
inline constexpr std::array<BareTensor, 6> kBareTensors = {{
    {.name = ".self_attn.sinks", .suffix = ".weight"},
    {.name = ".feed_forward.expert_bias", .suffix = ".bias"},
    {.name = ".linear_attn.dt_bias", .suffix = ".bias"},
    {.name = ".mamba.dt_bias", .suffix = ".bias"},
    {.name = ".mixer.dt_bias", .suffix = ".bias"},
    {.name = ".mixer.gate.e_score_correction_bias", .suffix = ".bias"},
}};

}  // namespace augur
