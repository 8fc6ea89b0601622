#include "model/layer_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/config_bounds.h"
#include "model/mamba_reader.h"
#include "model/rope_reader.h"

namespace augur {

namespace {

bool read_bias(const JsonFields& fields, BiasRule rule, const char* key) {
  if (rule == BiasRule::Never || rule == BiasRule::Always) return rule == BiasRule::Always;
  return fields.flag(key, rule == BiasRule::OptOut);
}

/// A kind of layer_types.
bool is_mamba(const nlohmann::json& type) {
  return type == "mamba" || type == "linear_attention";
}

}  // namespace

double read_cap(const JsonFields& fields, const char* key, double fallback) {
  if (!fields.has(key)) return fallback;
  return fields.find_number(key, kMinScale, kMaxScale).value_or(0);
}

LayerReader::LayerReader(const JsonFields& fields, const Family& family, const ModelConfig& shapes,
                         std::int64_t max_positions)
    : fields_(fields), family_(family), shapes_(shapes) {
  read_common();
  read_activation();
  read_scores();
  read_convolutions();
  read_pattern();
  read_recurrent_layers();
  read_windows();
  read_rotations(max_positions);
  read_experts();
}

LayerSpec LayerReader::layer(int index) const {
  const auto i = static_cast<std::size_t>(index);
  if (!pattern_.empty()) return pattern_layer(pattern_[i]);
  LayerSpec layer = common_;
  if (has_experts_[i]) layer.experts = experts_;
  if (convolves_[i] || recurs_[i]) {
    if (convolves_[i]) layer.conv = conv_;
    if (recurs_[i]) layer.recurrent = recurrent_;
    layer.gated = false;
    layer.qk_norm = QkNorm::None;
    layer.rope = {.none = true};
    return layer;
  }
  layer.window = windowed_[i] ? window_ : 0;
  layer.rope = windowed_[i] ? window_rope_ : full_rope_;
  if (!thetas_.empty()) layer.rope.theta = thetas_[i];
  if (!rotates_[i]) layer.rope = {.none = true};
  return layer;
}

LayerSpec LayerReader::pattern_layer(PatternBlock block) const {
  LayerSpec layer = common_;
  layer.rope = {.none = true};
  const bool mixes = block == PatternBlock::Attention || block == PatternBlock::Recurrence;
  layer.blocks = mixes ? Blocks::Mixer : Blocks::FeedForward;
  if (mixes) layer.mlp_bias = false;
  if (block == PatternBlock::Recurrence) layer.recurrent = recurrent_;
  if (block == PatternBlock::Experts) layer.experts = experts_;
  return layer;
}

void LayerReader::read_pattern() {
  if (!family_.single_blocks) return;
  pattern_ = read_block_pattern(fields_);
  if (fields_.flag("attention_bias"))
    fields_.fail("attention_bias", "is not supported for this model_type", ErrorKind::Unsupported);
  if (const auto name = fields_.find_string("mamba_hidden_act"); name && *name != "silu")
    fields_.fail("mamba_hidden_act", fmt::format("{:?} is not supported (silu)", *name),
                 ErrorKind::Unsupported);
}

void LayerReader::read_common() {
  common_.norms = family_.norms;
  common_.qk_norm = family_.qk_norm;
  common_.norms_rotated = family_.norms_rotated;
  common_.qkv_bias = read_bias(fields_, family_.qkv_bias, family_.qkv_bias_key);
  common_.o_bias = read_bias(fields_, family_.o_bias, family_.o_bias_key);
  common_.sinks = family_.sinks;
  common_.mlp_bias = read_bias(fields_, family_.mlp_bias, family_.mlp_bias_key);
}

void LayerReader::read_activation() {
  common_.activation = family_.activation;
  if (common_.activation == Activation::ClampedSwiglu) {  // which `hidden_act` calls silu
    const auto expect = [&](const char* key, double value) {
      if (fields_.find_number(key, kMinScale, kMaxScale).value_or(value) != value) {
        fields_.fail(key, fmt::format("expected {}", value));
      }
    };
    expect("swiglu_alpha", 1.702);
    expect("swiglu_limit", 7);
    return;
  }
  if (common_.activation == Activation::SquaredRelu) {
    for (const char* key : {"hidden_act", "mlp_hidden_act"}) {
      if (const auto name = fields_.find_string(key); name && *name != "relu2")
        fields_.fail(key, fmt::format("{:?} is not supported (relu2)", *name), ErrorKind::Unsupported);
    }
    return;
  }
  for (const char* key : {"hidden_act", "hidden_activation"}) {
    const auto name = fields_.find_string(key);
    if (!name) continue;
    if (*name == "silu" || *name == "swish") {
      common_.activation = Activation::Silu;
    } else if (*name == "gelu_pytorch_tanh" || *name == "gelu_new") {
      common_.activation = Activation::GeluTanh;
    } else {
      fields_.fail(key, fmt::format("{:?} is not supported (silu, gelu_pytorch_tanh)", *name),
                   ErrorKind::Unsupported);
    }
  }
}

void LayerReader::read_scores() {
  const auto scale = [&](const char* key, double fallback) {
    return fields_.find_number(key, kMinScale, kMaxScale).value_or(fallback);
  };
  if (family_.query_scalar > 0) {
    common_.score_scale =
        static_cast<float>(1 / std::sqrt(scale("query_pre_attn_scalar", family_.query_scalar)));
  }
  if (family_.multipliers) {
    common_.score_scale = static_cast<float>(scale("attention_multiplier", 1));
    common_.residual_scale = static_cast<float>(scale("residual_multiplier", 1));
  }
  if (family_.caps) {
    common_.score_cap = static_cast<float>(read_cap(fields_, "attn_logit_softcapping", family_.score_cap));
  }
}

/// Where `layer_types` is not given.
std::vector<bool> LayerReader::windowed_by_rule() const {
  const auto layers = static_cast<std::size_t>(shapes_.layers);
  std::vector<bool> windowed(layers, false);
  switch (family_.window) {
    case WindowRule::Never:
      break;
    case WindowRule::Always:
      windowed.assign(layers, true);
      break;
    case WindowRule::OptIn: {
      constexpr std::int64_t kDefaultFullLayers = 28;
      std::int64_t full = 0;  // max_window_layers of 0 windows every layer
      if (const auto* key = fields_.find("max_window_layers"); key == nullptr || *key != 0) {
        full = fields_.find_int("max_window_layers", kMaxLayers).value_or(kDefaultFullLayers);
      }
      for (auto i = static_cast<std::size_t>(full); i < layers; ++i) windowed[i] = true;
      break;
    }
    case WindowRule::Pattern: {
      auto pattern = fields_.find_int("sliding_window_pattern", kMaxLayers);
      if (!pattern) pattern = fields_.find_int("_sliding_window_pattern", kMaxLayers);
      const auto every = static_cast<std::size_t>(pattern.value_or(family_.window_pattern));
      const std::size_t first = family_.full_first ? 0 : 1;
      for (std::size_t i = 0; i < layers; ++i) windowed[i] = (i + first) % every != 0;
      break;
    }
  }
  return windowed;
}

void LayerReader::read_windows() {
  const auto layers = static_cast<std::size_t>(shapes_.layers);
  const bool null = fields_.has("sliding_window") && fields_.find("sliding_window") == nullptr;
  const bool on = family_.window != WindowRule::Never && !null &&
                  (family_.window != WindowRule::OptIn || fields_.flag("use_sliding_window"));
  if (on) window_ = fields_.find_int("sliding_window", kMaxContext).value_or(family_.default_window);

  const nlohmann::json* types = fields_.find("layer_types");
  if (types == nullptr) {
    windowed_ = on ? windowed_by_rule() : std::vector<bool>(layers, false);
    return;
  }
  if (!types->is_array() || types->size() != layers) {
    fields_.fail("layer_types", fmt::format("expected a list of {}", layers));
  }
  for (const nlohmann::json& type : *types) {
    const bool other = (family_.conv && type == "conv") || (family_.delta && type == "linear_attention") ||
                       (family_.mamba != nullptr && is_mamba(type));
    if (!other && type != "full_attention" && type != "sliding_attention" && type != "attention") {
      fields_.fail("layer_types",
                   fmt::format("{} is not supported (full_attention, {})", type.dump(),
                               family_.conv               ? "conv"
                               : family_.delta            ? "linear_attention"
                               : family_.mamba != nullptr ? "mamba"
                                                          : "sliding_attention"),
                   ErrorKind::Unsupported);
    }
    if (type == "sliding_attention" && family_.window == WindowRule::Never) {
      fields_.fail("layer_types", "sliding_attention is not supported for this model_type",
                   ErrorKind::Unsupported);
    }
    windowed_.push_back(on && type == "sliding_attention");
  }
}

void LayerReader::read_rotations(std::int64_t max_positions) {
  RopeSource source{.default_theta = family_.default_theta,
                    .layer_type = "full_attention",
                    .rotary_share = family_.rotary_share,
                    .fixed_alpha = family_.fixed_alpha,
                    .head_dim = shapes_.head_dim,
                    .max_positions = max_positions};
  full_rope_ = read_rope(fields_, source);
  common_.query_growth = read_query_growth(fields_, family_.query_growth);
  source.layer_type = "sliding_attention";
  if (family_.local_rotation) {
    source.theta_key = "rope_local_base_freq";
    source.default_theta = family_.local_theta > 0 ? family_.local_theta : full_rope_.theta;
    source.scaled = false;
  }
  window_rope_ = read_rope(fields_, source);

  const auto kind = fields_.find_string("position_embedding_type");
  if (kind && *kind != "rope" && (*kind != "nope" || !family_.nope))
    fields_.fail("position_embedding_type", fmt::format("{:?} is not supported", *kind),
                 ErrorKind::Unsupported);
  rotates_.assign(static_cast<std::size_t>(shapes_.layers), kind ? *kind == "rope" : family_.rotates);
  read_thetas();
  if (family_.rope_interval == 0) {
    check_rotating_layers();
    return;
  }
  const nlohmann::json* list = fields_.find("no_rope_layers");
  if (list != nullptr && (!list->is_array() || list->size() != rotates_.size())) {
    fields_.fail("no_rope_layers", fmt::format("expected a list of {}", rotates_.size()));
  }
  const auto interval = static_cast<std::size_t>(
      fields_.find_int("no_rope_layer_interval", kMaxLayers).value_or(family_.rope_interval));
  for (std::size_t i = 0; i < rotates_.size(); ++i) {
    if (list == nullptr) {
      rotates_[i] = (i + 1) % interval != 0;
    } else if ((*list)[i] == 0 || (*list)[i] == 1) {  // NOLINT(misc-redundant-expression): of JSON
      rotates_[i] = (*list)[i] == 1;                  // the key has it the other way round from its name
    } else {
      fields_.fail("no_rope_layers", fmt::format("expected 0 or 1, found {}", (*list)[i].dump()));
    }
  }
}

/// `list`: of layers, whose flags become false.
void LayerReader::clear_listed(const char* key, const nlohmann::json& list, std::vector<bool>& flags) const {
  if (!list.is_array()) fields_.fail(key, "expected a list of layers");
  for (const nlohmann::json& layer : list) {
    if (!layer.is_number_integer() || layer < 0 || layer >= flags.size())
      fields_.fail(key, fmt::format("{} is no layer of {}", layer.dump(), flags.size()));
    flags[layer.get<std::size_t>()] = false;
  }
}

void LayerReader::read_convolutions() {
  const auto layers = static_cast<std::size_t>(shapes_.layers);
  convolves_.assign(layers, false);
  if (!family_.conv) return;
  conv_.taps = static_cast<int>(fields_.find_int("conv_L_cache", kMaxTaps, 2).value_or(3));
  conv_.bias = fields_.flag("conv_bias");
  const char* key = "layer_types";
  if (const nlohmann::json* types = fields_.find(key)) {  // whose kinds read_windows() checks
    for (std::size_t i = 0; types->is_array() && i < std::min(layers, types->size()); ++i)
      convolves_[i] = (*types)[i] == "conv";
  } else if (const nlohmann::json* attention = fields_.find("full_attn_idxs")) {
    key = "full_attn_idxs";
    convolves_.assign(layers, true);
    clear_listed(key, *attention, convolves_);
  }
  require_attention(key, convolves_);
}

/// `without`: layers that have something in its place, as `key` says.
void LayerReader::require_attention(const char* key, const std::vector<bool>& without) const {
  if (std::find(without.begin(), without.end(), false) == without.end())
    fields_.fail(key, "expected a layer with attention");
}

void LayerReader::read_recurrent_layers() {
  const auto layers = static_cast<std::size_t>(shapes_.layers);
  recurs_.assign(layers, false);
  if (family_.mamba != nullptr) return read_mamba_layers();
  if (!family_.delta) return;
  const auto size = [&](const char* key, std::int64_t max, int fallback, std::int64_t min = 1) {
    return static_cast<int>(fields_.find_int(key, max, min).value_or(fallback));
  };
  recurrent_.key_heads = size("linear_num_key_heads", kMaxHeads, 16);
  recurrent_.value_heads = size("linear_num_value_heads", kMaxHeads, 32);
  recurrent_.key_dim = size("linear_key_head_dim", kMaxHeadDim, 128);
  recurrent_.value_dim = size("linear_value_head_dim", kMaxHeadDim, 128);
  recurrent_.taps = size("linear_conv_kernel_dim", kMaxTaps, 4, 2);
  recurrent_.interleaved = fields_.flag("linear_value_heads_interleaved");
  if (recurrent_.value_heads % recurrent_.key_heads != 0) {
    fields_.fail("linear_num_value_heads", fmt::format("{} is no multiple of linear_num_key_heads {}",
                                                       recurrent_.value_heads, recurrent_.key_heads));
  }
  if (std::max(recurrent_.keys(), recurrent_.values()) > kMaxHidden) {
    fields_.fail(
        "linear_num_value_heads",
        fmt::format("{} heads of {}, {} of keys of {}: expected at most {} numbers", recurrent_.value_heads,
                    recurrent_.value_dim, recurrent_.key_heads, recurrent_.key_dim, kMaxHidden));
  }
  common_.gated = fields_.flag("attn_output_gate", true);
  if (fields_.flag("attention_bias"))
    fields_.fail("attention_bias", "is not supported for this model_type", ErrorKind::Unsupported);
  if (const auto gate = fields_.find_string("output_gate_type"); gate && *gate != "swish" && *gate != "silu")
    fields_.fail("output_gate_type", fmt::format("{:?} is not supported (swish)", *gate),
                 ErrorKind::Unsupported);

  const char* key = "layer_types";
  if (const nlohmann::json* types = fields_.find(key)) {  // whose kinds read_windows() checks
    for (std::size_t i = 0; types->is_array() && i < std::min(layers, types->size()); ++i)
      recurs_[i] = (*types)[i] == "linear_attention";
  } else {
    key = "full_attention_interval";
    const auto every = static_cast<std::size_t>(size(key, kMaxLayers, 4));
    for (std::size_t i = 0; i < layers; ++i) recurs_[i] = (i + 1) % every != 0;
  }
  require_attention(key, recurs_);
}

void LayerReader::read_mamba_layers() {
  constexpr const char* kKey = "layer_types";
  if (!pattern_.empty()) {
    for (std::size_t i = 0; i < pattern_.size(); ++i) recurs_[i] = pattern_[i] == PatternBlock::Recurrence;
  } else if (const nlohmann::json* types = fields_.find(kKey)) {  // whose kinds read_windows() checks
    for (std::size_t i = 0; types->is_array() && i < std::min(recurs_.size(), types->size()); ++i)
      recurs_[i] = is_mamba((*types)[i]);
  } else {
    recurs_.assign(recurs_.size(), true);
  }
  require_attention(kKey, recurs_);
  if (std::find(recurs_.begin(), recurs_.end(), true) == recurs_.end()) return;
  recurrent_ = read_mamba(fields_, *family_.mamba, shapes_.hidden);
}

void LayerReader::read_thetas() {
  constexpr const char* kKey = "layer_rope_theta";
  const nlohmann::json* list = fields_.find(kKey);
  if (list == nullptr) return;
  if (!family_.layer_thetas)
    fields_.fail(kKey, "is not supported for this model_type", ErrorKind::Unsupported);
  if (!list->is_array() || list->size() != rotates_.size()) {
    fields_.fail(kKey, fmt::format("expected a list of {}", rotates_.size()));
  }
  for (std::size_t i = 0; i < rotates_.size(); ++i) {
    const nlohmann::json& theta = (*list)[i];
    const bool rotates = theta.is_number() && theta.get<double>() > 1 && theta.get<double>() <= kMaxTheta;
    if (!rotates && theta != 0) {
      fields_.fail(kKey, fmt::format("expected 0 or a base above 1, found {}", theta.dump()));
    }
    thetas_.push_back(theta.get<double>());
    rotates_[i] = rotates;
  }
}

/// Beside `layer_rope_theta` it says the same again.
void LayerReader::check_rotating_layers() const {
  const nlohmann::json* list = fields_.find("no_rope_layers");
  if (list == nullptr) return;
  bool same = !thetas_.empty() && list->is_array() && list->size() == rotates_.size();
  for (std::size_t i = 0; same && i < rotates_.size(); ++i) same = (*list)[i] == (rotates_[i] ? 1 : 0);
  if (!same) fields_.fail("no_rope_layers", "is not supported for this model_type", ErrorKind::Unsupported);
}

/// Nemotron 3's.
void LayerReader::read_pattern_experts() {
  if (std::ranges::find(pattern_, PatternBlock::Experts) == pattern_.end()) return;
  if (common_.mlp_bias)
    fields_.fail("mlp_bias", "is not supported where there are experts", ErrorKind::Unsupported);
  if (fields_.find_int("n_group", kMaxExperts).value_or(1) != 1)
    fields_.fail("n_group", "expected 1: experts in groups are not supported", ErrorKind::Unsupported);
  experts_.latent = static_cast<int>(fields_.find_int("moe_latent_size", kMaxHidden).value_or(0));
  experts_.count = static_cast<int>(fields_.require_int("n_routed_experts", kMaxExperts));
  experts_.active = static_cast<int>(fields_.require_int("num_experts_per_tok", kMaxActiveExperts));
  if (experts_.active > experts_.count) {
    fields_.fail("num_experts_per_tok", fmt::format("{} of {} experts", experts_.active, experts_.count));
  }
  experts_.width = static_cast<int>(fields_.require_int("moe_intermediate_size", kMaxIntermediate));
  experts_.shared =
      static_cast<int>(fields_.require_int("moe_shared_expert_intermediate_size", kMaxIntermediate));
  experts_.shared_gate = false;
  experts_.sigmoid = true;
  experts_.normalise = fields_.flag("norm_topk_prob", true);
  experts_.chosen_by_bias = true;
  experts_.scale =
      static_cast<float>(fields_.find_number("routed_scaling_factor", kMinScale, kMaxScale).value_or(1));
  experts_.sum_offset = 1e-20f;
}

void LayerReader::read_experts() {
  has_experts_.assign(static_cast<std::size_t>(shapes_.layers), false);
  if (family_.experts == ExpertRule::Pattern) return read_pattern_experts();
  if (family_.experts == ExpertRule::None) {
    for (const char* key : {"num_experts", "num_local_experts"}) {
      if (fields_.find(key) != nullptr && *fields_.find(key) != 0) {
        fields_.fail(key, "experts are not supported for this model_type", ErrorKind::Unsupported);
      }
    }
    return;
  }
  const auto layers = static_cast<std::size_t>(shapes_.layers);
  const auto size = [&](const char* key, std::int64_t max) { return fields_.find_int(key, max); };
  if (const auto* none = fields_.find("num_local_experts");
      family_.experts == ExpertRule::Granite && none != nullptr && *none == 0)
    return;
  auto count = size("num_local_experts", kMaxExperts);
  if (!count) count = size("num_experts", kMaxExperts);
  if (!count) fields_.fail("num_local_experts", "missing");
  experts_.count = static_cast<int>(*count);
  experts_.active = static_cast<int>(fields_.require_int("num_experts_per_tok", kMaxActiveExperts));
  if (experts_.active > experts_.count) {
    fields_.fail("num_experts_per_tok", fmt::format("{} of {} experts", experts_.active, experts_.count));
  }
  if (family_.experts == ExpertRule::Mixtral || family_.experts == ExpertRule::GptOss) {
    experts_.softmax_of_all = family_.experts == ExpertRule::Mixtral;
    experts_.bias = family_.experts == ExpertRule::GptOss;
    experts_.width = shapes_.intermediate;
    has_experts_.assign(layers, true);
    return;
  }
  if (family_.experts == ExpertRule::Granite) {
    experts_.softmax_of_all = false;
    experts_.width = static_cast<int>(fields_.require_int("intermediate_size", kMaxIntermediate));
    experts_.shared = shapes_.intermediate;
    experts_.shared_gate = false;
    has_experts_.assign(layers, true);
    return;
  }
  experts_.width = static_cast<int>(fields_.require_int("moe_intermediate_size", kMaxIntermediate));
  if (family_.experts == ExpertRule::Lfm2) {
    experts_.sigmoid = true;
    experts_.normalise = fields_.flag("norm_topk_prob", true);
    experts_.chosen_by_bias = fields_.flag("use_expert_bias", true);
    experts_.scale =
        static_cast<float>(fields_.find_number("routed_scaling_factor", kMinScale, kMaxScale).value_or(1));
    std::size_t dense = 0;
    if (const auto* key = fields_.find("num_dense_layers"); key == nullptr || *key != 0)
      dense = static_cast<std::size_t>(fields_.find_int("num_dense_layers", kMaxLayers).value_or(2));
    if (dense >= layers) fields_.fail("num_dense_layers", fmt::format("{} of {} layers", dense, layers));
    std::fill(has_experts_.begin() + static_cast<std::ptrdiff_t>(dense), has_experts_.end(), true);
    return;
  }
  experts_.normalise = fields_.flag("norm_topk_prob", family_.normalised_experts);
  if (family_.shared_expert) {
    experts_.shared =
        static_cast<int>(fields_.require_int("shared_expert_intermediate_size", kMaxIntermediate));
  }
  if (family_.experts == ExpertRule::QwenAll) {
    experts_.normalise = true;
    if (!fields_.flag("norm_topk_prob", true))
      fields_.fail("norm_topk_prob", "false is not supported for this model_type", ErrorKind::Unsupported);
    if (size("decoder_sparse_step", kMaxLayers).value_or(1) != 1)
      fields_.fail("decoder_sparse_step", "expected 1: all layers have experts");
    if (const auto* dense = fields_.find("mlp_only_layers"); dense != nullptr && !dense->empty())
      fields_.fail("mlp_only_layers", "expected none: all layers have experts");
    has_experts_.assign(layers, true);
    return;
  }
  const auto step = static_cast<std::size_t>(size("decoder_sparse_step", kMaxLayers).value_or(1));
  for (std::size_t i = 0; i < layers; ++i) has_experts_[i] = (i + 1) % step == 0;
  if (const nlohmann::json* dense = fields_.find("mlp_only_layers")) {
    clear_listed("mlp_only_layers", *dense, has_experts_);
  }
}

}  // namespace augur
