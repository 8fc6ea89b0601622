#include "model/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/token_ids.h"
#include "files/gguf/model.h"
#include "model/config_bounds.h"
#include "model/families.h"
#include "model/recurrent_layout.h"
#include "text/tokenizer/to_gguf.h"

namespace augur {

namespace {

using Scaling = RopeConfig::Scaling;

void add_rope(const std::string& prefix, const RopeConfig& rope, const GgufArchitecture& architecture,
              const std::string& file, GgufMetadata& out) {
  out.set_f32(prefix + "rope.freq_base", static_cast<float>(rope.theta));
  const auto scaling = [&](const char* type) {
    out.set(prefix + "rope.scaling.type", type);
    out.set_f32(prefix + "rope.scaling.factor", static_cast<float>(rope.factor));
  };
  switch (rope.scaling) {
    case Scaling::Factors:
      if (!rope.long_factors.empty()) {
        out.set_u32(prefix + "rope.scaling.original_context_length",
                    static_cast<std::uint32_t>(rope.original_context));
        out.set_f32(prefix + "rope.scaling.attn_factor", static_cast<float>(rope.attention_factor));
      }
      return;
    case Scaling::None:
    case Scaling::Llama3:
      return;
    case Scaling::Linear:
      return scaling("linear");
    case Scaling::Yarn:
      if (rope.truncate != architecture.yarn_truncates) break;
      scaling("yarn");
      if (rope.original_context > 0) {
        out.set_u32(prefix + "rope.scaling.original_context_length",
                    static_cast<std::uint32_t>(rope.original_context));
      }
      if (architecture.query_growth && rope.attention_factor == 1) {  // as llama.cpp's converter says it
        out.set_f32(prefix + "rope.scaling.yarn_log_multiplier", 1.0f);
      } else if (rope.attention_factor > 0) {
        out.set_f32(prefix + "rope.scaling.attn_factor",
                    static_cast<float>(rope.attention_factor / gguf_yarn_magnitude(rope.factor)));
      }
      out.set_f32(prefix + "rope.scaling.yarn_beta_fast", static_cast<float>(rope.beta_fast));
      out.set_f32(prefix + "rope.scaling.yarn_beta_slow", static_cast<float>(rope.beta_slow));
      return;
    case Scaling::Dynamic:
      break;
  }
  throw Error(ErrorKind::Unsupported, "{}: rope_scaling: GGUF files cannot say this", file);
}

std::int64_t smallest_window(const ModelConfig& config) {
  std::int64_t window = 0;
  for (const LayerSpec& kind : config.kinds) {
    if (kind.window > 0) window = window == 0 ? kind.window : std::min(window, kind.window);
  }
  return window;
}

/// As in config.json: with linear scaling its max_position_embeddings, from which readers conclude as there.
std::int64_t context_length(const ModelConfig& config) {
  const RopeConfig& rope = config.rope();
  if (rope.scaling == Scaling::Linear) return rope.original_context;
  return rope.long_factors.empty() ? config.max_context : config.context_limit;
}

/// Which layers rotate, and how those with a window do, has no key: it follows from the architecture.
void check_rotations(const ModelConfig& config, const Family& family, const GgufArchitecture& architecture,
                     const std::string& file) {
  if (family.single_blocks) return;  // none rotates
  if (config.rope().none) {
    if (architecture.nope) return;
    throw Error(ErrorKind::Unsupported,
                "{}: position_embedding_type: GGUF files cannot say that nothing is rotated", file);
  }
  for (int i = 0; i < config.layers; ++i) {
    const RopeConfig& rope = config.layer(i).rope;
    if (!config.layer(i).attends()) continue;
    const bool rotates = family.rope_interval == 0 || (i + 1) % family.rope_interval != 0;
    if (family.layer_thetas) {
      if (rope.none || rope == config.rope()) continue;
      throw Error(ErrorKind::Unsupported,
                  "{}: layer_rope_theta: GGUF files cannot say that layer {} rotates by another base", file,
                  i);
    }
    if (rope.none == rotates) {
      throw Error(ErrorKind::Unsupported,
                  "{}: no_rope_layers, no_rope_layer_interval: GGUF files cannot say that layer {} {}", file,
                  i, rotates ? "does not rotate" : "rotates");
    }
    if (config.layer(i).window == 0 || rope.none) continue;
    RopeConfig assumed = config.rope();
    if (family.local_rotation) assumed = {.dims = assumed.dims, .theta = rope.theta};
    if (rope != assumed) {
      throw Error(ErrorKind::Unsupported,
                  "{}: rope_parameters: GGUF files cannot say how layer {}, which has a window, rotates",
                  file, i);
    }
  }
}

void check_activation(const ModelConfig& config, const Family& family, const GgufArchitecture& architecture,
                      const std::string& file) {
  Activation assumed = architecture.activation == "silu"    ? Activation::Silu
                       : architecture.activation == "relu2" ? Activation::SquaredRelu
                                                            : Activation::GeluTanh;
  if (family.activation == Activation::ClampedSwiglu) assumed = family.activation;
  if (config.layer(0).activation == assumed) return;
  throw Error(ErrorKind::Unsupported, "{}: hidden_act: GGUF files of {} cannot say that it is not {}", file,
              architecture.name, architecture.activation);
}

/// What the layers' descriptors have beside a rotation. Error where GGUF's readers would assume otherwise.
void add_layers(const std::string& prefix, const ModelConfig& config, const GgufArchitecture& architecture,
                const std::string& file, GgufMetadata& out) {
  const auto number = [&](const char* key, float value) { out.set_f32(prefix + key, value); };
  const LayerSpec& layer = config.layer(0);
  if (architecture.windows && (smallest_window(config) > 0 || !architecture.windows_stated)) {
    out.set_u32(prefix + "attention.sliding_window", static_cast<std::uint32_t>(smallest_window(config)));
    std::vector<std::int32_t> windowed;
    for (int i = 0; i < config.layers; ++i) windowed.push_back(config.layer(i).window > 0 ? 1 : 0);
    if (smallest_window(config) > 0) {
      out.set(prefix + "attention.sliding_window_pattern", std::span<const std::int32_t>(windowed));
    }
  }
  const Family& family = *find_family(config.family);
  if (family.layer_thetas) {
    std::vector<std::int32_t> rotating;
    for (int i = 0; i < config.layers; ++i) rotating.push_back(config.layer(i).rope.none ? 0 : 1);
    out.set(prefix + "attention.rope_pattern", std::span<const std::int32_t>(rotating));
  }
  check_rotations(config, family, architecture, file);
  if (architecture.nope) out.set(prefix + "rope.scaling.finetuned", !config.rope().none);
  check_activation(config, family, architecture, file);
  for (const LayerSpec& kind : config.kinds) {
    if (kind.window > 0 && family.local_rotation)
      number("rope.freq_base_swa", static_cast<float>(kind.rope.theta));
  }
  if ((family.score_cap > 0 && layer.score_cap == 0) || (family.logit_cap > 0 && config.logit_cap == 0)) {
    throw Error(
        ErrorKind::Unsupported,
        "{}: attn_logit_softcapping, final_logit_softcapping: GGUF files cannot say that there is none",
        file);
  }
  if (layer.query_growth.beta > 0) {
    number("attention.temperature_scale", static_cast<float>(layer.query_growth.beta));
    out.set_u32(prefix + "rope.scaling.original_context_length",
                static_cast<std::uint32_t>(layer.query_growth.step));
  }
  if (layer.score_cap > 0) number("attn_logit_softcapping", layer.score_cap);
  if (config.logit_cap > 0) number("final_logit_softcapping", config.logit_cap);
  if (family.multipliers) {
    number("attention.scale", layer.score_scale);
    number("residual_scale", layer.residual_scale);
    number("embedding_scale", config.embedding_scale);
    number("logit_scale", 1 / config.logit_scale);
  } else if (layer.score_scale > 0 &&
             std::abs(layer.score_scale - 1 / std::sqrt(static_cast<float>(config.head_dim))) > 1e-7f) {
    throw Error(ErrorKind::Unsupported,
                "{}: query_pre_attn_scalar: GGUF files cannot say that it is not head_dim", file);
  }
}

/// By layer; those without attention have none.
void add_kv_heads(const std::string& prefix, const ModelConfig& config, GgufMetadata& out) {
  std::vector<std::int32_t> heads;
  for (int i = 0; i < config.layers; ++i) heads.push_back(config.layer(i).attends() ? config.kv_heads : 0);
  out.set(prefix + "attention.head_count_kv", std::span<const std::int32_t>(heads));
}

void add_convolutions(const std::string& prefix, const ModelConfig& config, const std::string& file,
                      GgufMetadata& out) {
  if (config.conv().bias)
    throw Error(ErrorKind::Unsupported, "{}: conv_bias: GGUF files cannot say that there is one", file);
  add_kv_heads(prefix, config, out);
  constexpr int kAny = 3;  // where no layer has any: readers want it
  const int taps = config.conv().taps > 0 ? config.conv().taps : kAny;
  out.set_u32(prefix + "shortconv.l_cache", static_cast<std::uint32_t>(taps));
}

/// Nemotron 3's.
void add_shared_by_sigmoids(const std::string& prefix, const ExpertSpec& experts, GgufMetadata& out) {
  const auto size = [&](const char* key, int value) {
    out.set_u32(prefix + key, static_cast<std::uint32_t>(value));
  };
  size("expert_count", experts.count);
  size("expert_used_count", experts.active);
  size("expert_feed_forward_length", experts.width);
  size("expert_shared_feed_forward_length", experts.shared);
  if (experts.latent > 0) size("moe_latent_size", experts.latent);
  size("expert_shared_count", 1);
  size("expert_group_count", 1);
  out.set(prefix + "expert_weights_norm", experts.normalise);
  out.set_f32(prefix + "expert_weights_scale", experts.scale);
}

/// How many of a rotation's pairs turn by each of three positions, and a fourth; of a text's tokens all are
/// the same.
std::vector<std::int32_t> rotary_sections(const nlohmann::json& config) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto parameters = config.find(key);
    if (parameters == config.end() || !parameters->is_object()) continue;
    const auto found = parameters->find("mrope_section");
    if (found == parameters->end() || !found->is_array() || found->size() > 4) continue;
    std::vector<std::int32_t> sections;
    for (const nlohmann::json& pairs : *found) {
      if (!pairs.is_number_unsigned() || pairs > kMaxHeadDim) break;
      sections.push_back(pairs.get<std::int32_t>());
    }
    if (sections.size() != found->size()) continue;
    sections.resize(4);
    return sections;
  }
  return {11, 11, 10, 0};
}

void add_state_sizes(const std::string& prefix, const RecurrentSpec& recurrent, GgufMetadata& out) {
  const auto size = [&](const char* key, std::int64_t value) {
    out.set_u32(prefix + key, static_cast<std::uint32_t>(value));
  };
  size("ssm.conv_kernel", recurrent.taps);
  size("ssm.state_size", recurrent.key_dim);
  size("ssm.group_count", recurrent.key_heads);
  size("ssm.time_step_rank", recurrent.value_heads);
  size("ssm.inner_size", recurrent.values());
}

void add_mamba(const std::string& prefix, const ModelConfig& config, const std::string& file,
               GgufMetadata& out) {
  const RecurrentSpec recurrent = config.recurrent();
  const RecurrentSpec unlimited;
  if (recurrent.step_min != unlimited.step_min || recurrent.step_max != unlimited.step_max)
    throw Error(ErrorKind::Unsupported, "{}: time_step_limit: GGUF files cannot say that there is one", file);
  add_kv_heads(prefix, config, out);
  add_state_sizes(prefix, recurrent, out);
}

/// Error where GGUF's readers would assume otherwise.
void add_single_blocks(const std::string& prefix, const ModelConfig& config,
                       const GgufArchitecture& architecture, const std::string& file, GgufMetadata& out) {
  std::vector<std::int32_t> widths;
  for (int i = 0; i < config.layers; ++i) {
    const LayerSpec& layer = config.layer(i);
    const bool experts = layer.experts.count > 0;
    if (layer.feeds_forward() && experts != architecture.experts) {
      throw Error(
          ErrorKind::Unsupported,
          "{}: layers_block_type: GGUF files of {} cannot say that layer {} is dense beside others with "
          "experts",
          file, architecture.name, i);
    }
    widths.push_back(!layer.feeds_forward() ? 0 : experts ? layer.experts.width : config.intermediate);
  }
  if (config.recurrent().key_heads > 0) {
    add_mamba(prefix, config, file, out);
  } else {
    add_kv_heads(prefix, config, out);
  }
  out.set(prefix + "feed_forward_length", std::span<const std::int32_t>(widths));
}

/// `drafting`: layers behind the model's. Error where GGUF's readers would assume otherwise.
void add_delta_rules(const std::string& prefix, const Checkpoint& checkpoint, const ModelConfig& config,
                     const GgufArchitecture& architecture, std::int64_t drafting, const std::string& file,
                     GgufMetadata& out) {
  const auto refuse = [&](const char* key, const char* what) {
    throw Error(ErrorKind::Unsupported, "{}: {}: GGUF files of {} cannot say {}", file, key,
                architecture.name, what);
  };
  const RecurrentSpec recurrent = config.recurrent();
  if (!config.layer(config.first_attention()).gated) refuse("attn_output_gate", "that there is none");
  if (recurrent.key_heads == 0) refuse("layer_types", "that all layers have attention");
  if (recurrent.key_dim != recurrent.value_dim)
    refuse("linear_value_head_dim", "that it is not that of keys");
  if (recurrent.interleaved && !architecture.delta_interleaved)
    refuse("linear_value_heads_interleaved", "this");
  const auto size = [&](const char* key, std::int64_t value) {
    out.set_u32(prefix + key, static_cast<std::uint32_t>(value));
  };
  add_state_sizes(prefix, recurrent, out);
  std::vector<bool> recurs;
  for (int i = 0; i < config.layers; ++i) recurs.push_back(!config.layer(i).attends());
  recurs.resize(recurs.size() + static_cast<std::size_t>(drafting));
  out.set(prefix + "attention.recurrent_layers", recurs);
  const auto full = std::find(recurs.begin(), recurs.end(), false);
  size("full_attention_interval", full - recurs.begin() + 1);  // which older readers go by
  if (drafting > 0) size("nextn_predict_layers", drafting);
  if (!architecture.delta_interleaved) return;
  const std::vector<std::int32_t> sections = rotary_sections(checkpoint.config());
  out.set(prefix + "rope.dimension_sections", std::span<const std::int32_t>(sections));
}

/// Error where GGUF's readers would assume otherwise.
void add_experts(const std::string& prefix, const ModelConfig& config, const GgufArchitecture& architecture,
                 const std::string& file, GgufMetadata& out) {
  const ExpertSpec experts = config.experts();
  int dense = 0;  // layers
  while (dense < config.layers && config.layer(dense).experts.count == 0) ++dense;
  if (dense == config.layers)
    throw Error(ErrorKind::Unsupported, "{}: GGUF files of {} cannot say that no layer has experts", file,
                architecture.name);
  for (int i = 0; i < config.layers; ++i) {
    const bool leads = architecture.conv && i < dense;
    if (!leads && config.layer(i).experts != experts)
      throw Error(ErrorKind::Unsupported, "{}: GGUF files cannot say that layers' experts differ", file);
  }
  if (experts.sigmoid) {
    const auto expect = [&](bool as_read, const char* key) {
      if (!as_read)
        throw Error(ErrorKind::Unsupported, "{}: {}: GGUF files of {} cannot say this", file, key,
                    architecture.name);
    };
    expect(experts.normalise, "norm_topk_prob");
    expect(experts.chosen_by_bias, "use_expert_bias");
    expect(experts.scale == 1.0f, "routed_scaling_factor");
    constexpr std::uint32_t kSigmoid = 2;
    out.set_u32(prefix + "expert_gating_func", kSigmoid);
    out.set_u32(prefix + "leading_dense_block_count", static_cast<std::uint32_t>(dense));
  }
  const ExpertRule rule = find_family(config.family)->experts;
  const bool says = rule == ExpertRule::Qwen || rule == ExpertRule::QwenAll;
  if (says && experts.normalise != architecture.normalised_experts) {
    throw Error(ErrorKind::Unsupported, "{}: norm_topk_prob: GGUF files of {} cannot say that it is {}", file,
                architecture.name, experts.normalise);
  }
  const auto size = [&](const char* key, int value) {
    out.set_u32(prefix + key, static_cast<std::uint32_t>(value));
  };
  size("expert_count", experts.count);
  size("expert_used_count", experts.active);
  size("expert_feed_forward_length", experts.width);
  if (experts.shared > 0) size("expert_shared_feed_forward_length", experts.shared);
}

void add_vocabulary(const Checkpoint& checkpoint, std::int32_t size, GgufMetadata& out) {
  const std::unique_ptr<Tokenizer> tokenizer = checkpoint.load_tokenizer();
  GgufVocabulary vocabulary = gguf_vocabulary_of_folder(checkpoint.path(), *tokenizer);
  constexpr std::int32_t kUnused = 5;
  if (std::ssize(vocabulary.tokens) > size) {
    throw Error("{}: {} tokens, the model has {}", vocabulary.file, vocabulary.tokens.size(), size);
  }
  // The embedding may have more rows: readers want a token for each.
  for (auto id = std::ssize(vocabulary.tokens); id < size; ++id) {
    vocabulary.tokens.push_back(fmt::format("[PAD{}]", id));
    vocabulary.token_types.push_back(kUnused);
    if (!vocabulary.scores.empty()) vocabulary.scores.push_back(-1000.0f);
  }
  out.set("tokenizer.ggml.model", vocabulary.model);
  out.set("tokenizer.ggml.pre", vocabulary.pre);
  out.set("tokenizer.ggml.tokens", std::span<const std::string>(vocabulary.tokens));
  out.set("tokenizer.ggml.token_type", std::span<const std::int32_t>(vocabulary.token_types));
  if (!vocabulary.scores.empty()) {
    out.set("tokenizer.ggml.scores", std::span<const float>(vocabulary.scores));
  }
  if (vocabulary.model == "gpt2") {
    out.set("tokenizer.ggml.merges", std::span<const std::string>(vocabulary.merges));
  }
  const auto id = [&](const char* key, std::int64_t value) {
    out.set_u32(key, static_cast<std::uint32_t>(value));
  };
  if (vocabulary.unk) id("tokenizer.ggml.unknown_token_id", *vocabulary.unk);
  if (vocabulary.add_space_prefix) out.set("tokenizer.ggml.add_space_prefix", *vocabulary.add_space_prefix);
  if (tokenizer->bos) id("tokenizer.ggml.bos_token_id", *tokenizer->bos);
  constexpr const char* kEndKeys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                      "tokenizer.ggml.eom_token_id"};
  const std::size_t ends = std::min(tokenizer->eos.size(), std::size(kEndKeys));
  for (std::size_t i = 0; i < ends; ++i) id(kEndKeys[i], tokenizer->eos[i]);
  if (ends < tokenizer->eos.size()) {
    out.set("tokenizer.ggml.eos_token_ids", std::span<const std::int32_t>(tokenizer->eos));
  }
  if (const auto suppressed = suppressed_tokens(checkpoint, *tokenizer); !suppressed.empty())
    out.set(std::string(kSuppressedKey), std::span<const std::int32_t>(suppressed));
  out.set("tokenizer.ggml.add_bos_token", tokenizer->add_bos);
  if (const auto source = checkpoint.chat_template()) out.set("tokenizer.chat_template", *source);
}

}  // namespace

const GgufArchitecture& gguf_architecture_of(const ModelConfig& config) {
  const Family& family = *find_family(config.family);
  const bool hybrid = !family.gguf_hybrid.empty() && config.recurrent().key_heads > 0;
  const bool experts = config.experts().count > 0;
  const std::string_view other = hybrid ? family.gguf_hybrid : experts ? family.gguf_experts : "";
  return *find_gguf_architecture(other.empty() ? family.gguf : other,
                                 {.experts = experts,
                                  .window = smallest_window(config) > 0,
                                  .query_growth = config.layer(0).query_growth.beta > 0});
}

GgufMetadata gguf_metadata(const Checkpoint& checkpoint, const ModelConfig& config) {
  const GgufArchitecture& known = gguf_architecture_of(config);
  const std::string architecture(known.name);
  const std::string file = checkpoint.path().string();
  const std::string prefix = architecture + ".";
  GgufMetadata out;
  out.set("general.architecture", architecture);
  out.set("general.name", checkpoint.path().filename().string());
  const auto size = [&](const char* key, std::int64_t value) {
    out.set_u32(prefix + key, static_cast<std::uint32_t>(value));
  };
  size("context_length", context_length(config));
  size("embedding_length", config.hidden);
  const std::int64_t drafting = known.delta ? drafting_layers(checkpoint.weights()) : 0;
  size("block_count", config.layers + drafting);
  // Granite's files have the experts' here, and that of the one that all rows go to beside them.
  if (!known.single_blocks) {
    size("feed_forward_length",
         known.experts && known.shared_expert ? config.experts().width : config.intermediate);
  }
  size("attention.head_count", config.heads);
  if (known.conv) {
    add_convolutions(prefix, config, file, out);
  } else if (known.single_blocks) {
    add_single_blocks(prefix, config, known, file, out);
  } else if (known.mamba) {
    add_mamba(prefix, config, file, out);
  } else {
    size("attention.head_count_kv", config.kv_heads);
  }
  size("attention.key_length", config.head_dim);
  size("attention.value_length", config.head_dim);
  size("rope.dimension_count", config.rope().dims > 0 ? config.rope().dims : config.head_dim);
  size("vocab_size", config.vocab);
  out.set_f32(prefix + "attention.layer_norm_rms_epsilon", config.norm_eps);
  if (!known.single_blocks) add_rope(prefix, config.rope(), known, file, out);
  add_layers(prefix, config, known, file, out);
  if (known.delta) add_delta_rules(prefix, checkpoint, config, known, drafting, file, out);
  if (known.experts && known.single_blocks) {
    add_shared_by_sigmoids(prefix, config.experts(), out);
  } else if (known.experts) {
    add_experts(prefix, config, known, file, out);
  } else if (config.experts().count > 0) {
    throw Error(ErrorKind::Unsupported,
                "{}: num_local_experts: GGUF files of {} cannot say that there are experts", file,
                known.name);
  }
  add_vocabulary(checkpoint, config.vocab, out);
  return out;
}

std::vector<std::pair<std::string, std::vector<float>>> gguf_rope_factors(const ModelConfig& config) {
  const RopeConfig& rope = config.rope();
  if (rope.scaling != Scaling::Llama3 && rope.scaling != Scaling::Factors) return {};
  if (!rope.long_factors.empty()) {
    return {{"rope_factors_long.weight", {rope.long_factors.begin(), rope.long_factors.end()}},
            {"rope_factors_short.weight", {rope.factors.begin(), rope.factors.end()}}};
  }
  RopeConfig plain = rope;
  plain.scaling = Scaling::None;
  const RopeTable from = make_rope_table(plain, config.head_dim, config.max_context);
  const RopeTable to = make_rope_table(rope, config.head_dim, config.max_context);
  std::vector<float> factors;
  for (std::size_t i = 0; i < from.inverse_frequencies.size(); ++i) {
    factors.push_back(from.inverse_frequencies[i] / to.inverse_frequencies[i]);
  }
  return {{"rope_freqs.weight", std::move(factors)}};
}

}  // namespace augur
