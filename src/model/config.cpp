#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "io/json_fields.h"
#include "model/families.h"

namespace augur {

namespace {

using Json = nlohmann::json;

// Far above every published model, and small enough that no product of them overflows 63 bits.
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHidden = 1 << 17;
constexpr std::int64_t kMaxIntermediate = 1 << 20;
constexpr std::int64_t kMaxHeads = 4096;
constexpr std::int64_t kMaxHeadDim = 1024;
constexpr std::int64_t kMaxVocab = 1 << 24;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 30;

using Fields = JsonFields;

constexpr double kMaxTheta = 1e15;
constexpr double kMaxFactor = 1e6;

/// As Hugging Face derives it: attention_factor when given, else from mscale and mscale_all_dim when both
/// are.
double yarn_attention_factor(const Fields& scaling, double factor) {
  if (const auto given = scaling.find_number("attention_factor", 1e-6, 1e6)) return *given;
  const auto mscale = scaling.find_number("mscale", 0, 1e6).value_or(0);
  const auto all_dim = scaling.find_number("mscale_all_dim", 0, 1e6).value_or(0);
  if (mscale == 0 || all_dim == 0 || factor <= 1) return 0;
  return (0.1 * mscale * std::log(factor) + 1) / (0.1 * all_dim * std::log(factor) + 1);
}

std::vector<double> frequency_factors(const Fields& scaling, int head_dim) {
  const Json* list = scaling.find("factors");
  const auto expected = static_cast<std::size_t>(head_dim / 2);
  if (list == nullptr || !list->is_array() || list->size() != expected) {
    scaling.fail("factors", fmt::format("expected {} numbers", expected));
  }
  std::vector<double> factors;
  for (const Json& value : *list) {
    if (!value.is_number() || !(value.get<double>() > 0) || !(value.get<double>() <= kMaxFactor)) {
      scaling.fail("factors", "expected positive numbers");
    }
    factors.push_back(value.get<double>());
  }
  return factors;
}

/// `rope_scaling` (with `rope_theta` beside it), or `rope_parameters`, which newer files have for both.
RopeConfig read_rope(const Fields& fields, int head_dim, std::int64_t max_positions) {
  RopeConfig rope;
  rope.theta = fields.find_number("rope_theta", 1.0 + 1e-6, kMaxTheta).value_or(rope.theta);
  const bool newer = fields.find("rope_parameters") != nullptr;
  const auto scaling = fields.find_object(newer ? "rope_parameters" : "rope_scaling");
  if (!scaling) return rope;

  rope.theta = scaling->find_number("rope_theta", 1.0 + 1e-6, kMaxTheta).value_or(rope.theta);
  const auto partial = scaling->find_number("partial_rotary_factor", 0, 1).value_or(1);
  if (partial != 1) scaling->fail("partial_rotary_factor", "rotating a part of each head is not supported");
  auto type = scaling->find_string("rope_type");
  if (!type) type = scaling->find_string("type");
  const std::string kind = type.value_or("default");
  if (kind == "default") return rope;
  if (kind == "frequency_factors") {
    rope.scaling = RopeConfig::Scaling::Factors;
    rope.factors = frequency_factors(*scaling, head_dim);
    return rope;
  }

  const auto original = scaling->find_int("original_max_position_embeddings", kMaxContext);
  const auto require_factor = [&] { return scaling->require_number("factor", 1, kMaxFactor); };
  if (kind == "linear") {
    rope.scaling = RopeConfig::Scaling::Linear;
    rope.factor = require_factor();
    rope.original_context = max_positions;
  } else if (kind == "dynamic") {
    if (head_dim <= 2) scaling->fail("rope_type", "dynamic needs heads of more than 2 dimensions");
    rope.scaling = RopeConfig::Scaling::Dynamic;
    rope.factor = require_factor();
    rope.original_context = max_positions;
  } else if (kind == "llama3") {
    rope.scaling = RopeConfig::Scaling::Llama3;
    rope.factor = require_factor();
    rope.low_freq_factor = scaling->require_number("low_freq_factor", 1e-6, kMaxFactor);
    rope.high_freq_factor = scaling->require_number("high_freq_factor", 1e-6, kMaxFactor);
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      scaling->fail("high_freq_factor", "must exceed low_freq_factor");
    }
    if (!original) scaling->fail("original_max_position_embeddings", "missing");
    rope.original_context = *original;
  } else if (kind == "yarn") {
    rope.scaling = RopeConfig::Scaling::Yarn;
    rope.original_context = original.value_or(max_positions);
    // A null factor with an original context means their ratio (DeepSeek-V3 writes it so).
    rope.factor = scaling->find("factor") == nullptr && original
                      ? static_cast<double>(max_positions) / static_cast<double>(*original)
                      : require_factor();
    rope.attention_factor = yarn_attention_factor(*scaling, rope.factor);
    rope.beta_fast = scaling->find_number("beta_fast", 1e-6, 1e6).value_or(rope.beta_fast);
    rope.beta_slow = scaling->find_number("beta_slow", 1e-6, 1e6).value_or(rope.beta_slow);
    rope.truncate = scaling->flag("truncate", true);
  } else {
    scaling->fail("rope_type",
                  fmt::format("{:?} is not supported (default, linear, dynamic, llama3, yarn)", kind));
  }
  return rope;
}

/// Tokens that one token's attention can reach, itself included; 0: all.
std::int64_t read_window(const Fields& fields, const Family& family, int layers) {
  constexpr std::int64_t kDefaultWindow = 4096;
  switch (family.window) {
    case WindowRule::Never:
      return 0;
    case WindowRule::Always:
      if (fields.has("sliding_window") && fields.find("sliding_window") == nullptr) return 0;
      break;
    case WindowRule::OptIn:
      if (!fields.flag("use_sliding_window")) return 0;
      if (fields.has("sliding_window") && fields.find("sliding_window") == nullptr) return 0;
      // max_window_layers of 0 windows every layer.
      if (const Json* full = fields.find("max_window_layers"); full == nullptr || *full != 0) {
        if (fields.find_int("max_window_layers", kMaxLayers).value_or(28) >= layers) return 0;
      }
      break;
  }
  return fields.find_int("sliding_window", kMaxContext).value_or(kDefaultWindow);
}

bool read_bias(const Fields& fields, BiasRule rule, const char* key) {
  return rule == BiasRule::Always || (rule == BiasRule::Key && fields.flag(key));
}

/// A longer context than max_position_embeddings where the scaling is meant to extend it: Hugging Face's
/// linear and dynamic keep the original length in that key, yarn keeps either.
std::int64_t extended_context(const RopeConfig& rope, std::int64_t max_positions) {
  using Scaling = RopeConfig::Scaling;
  if (rope.scaling != Scaling::Linear && rope.scaling != Scaling::Dynamic && rope.scaling != Scaling::Yarn) {
    return max_positions;
  }
  const double extended = rope.factor * static_cast<double>(rope.original_context);
  const auto bounded = static_cast<std::int64_t>(std::min(extended, static_cast<double>(kMaxContext)));
  return std::max(max_positions, bounded);
}

}  // namespace

ModelConfig ModelConfig::from_json(const nlohmann::json& config, const std::string& file) {
  if (!config.is_object()) throw Error("{}: expected an object", file);
  const Fields fields(config, file);
  const auto type = fields.find_string("model_type");
  if (!type) fields.fail("model_type", "missing");
  const Family* family = find_family(*type);
  if (family == nullptr) {
    std::string known;
    for (const Family& f : families()) known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
    fields.fail("model_type", fmt::format("{:?} is not supported (known: {})", *type, known));
  }
  if (fields.find("quantization_config") != nullptr) {
    fields.fail("quantization_config", "quantised Hugging Face checkpoints are not supported");
  }
  if (const auto act = fields.find_string("hidden_act"); act && *act != "silu" && *act != "swish") {
    fields.fail("hidden_act", fmt::format("{:?} is not supported (silu)", *act));
  }
  if (fields.find_number("partial_rotary_factor", 0, 1).value_or(1) != 1) {
    fields.fail("partial_rotary_factor", "rotating a part of each head is not supported");
  }

  ModelConfig result;
  result.family = family->name;
  result.layers = static_cast<int>(fields.require_int("num_hidden_layers", kMaxLayers));
  result.hidden = static_cast<int>(fields.require_int("hidden_size", kMaxHidden));
  result.intermediate = static_cast<int>(fields.require_int("intermediate_size", kMaxIntermediate));
  result.heads = static_cast<int>(fields.require_int("num_attention_heads", kMaxHeads));
  result.vocab = static_cast<std::int32_t>(fields.require_int("vocab_size", kMaxVocab));

  const bool absent = !fields.has("num_key_value_heads") && family->default_kv_heads > 0;
  result.kv_heads = static_cast<int>(fields.find_int("num_key_value_heads", kMaxHeads)
                                         .value_or(absent ? family->default_kv_heads : result.heads));
  if (result.heads % result.kv_heads != 0) {
    fields.fail("num_key_value_heads",
                fmt::format("{} does not divide num_attention_heads {}", result.kv_heads, result.heads));
  }
  if (const auto head_dim = fields.find_int("head_dim", kMaxHeadDim)) {
    result.head_dim = static_cast<int>(*head_dim);
  } else if (family->default_head_dim > 0) {
    result.head_dim = family->default_head_dim;
  } else {
    if (result.hidden % result.heads != 0) {
      fields.fail("hidden_size",
                  fmt::format("{} is no multiple of num_attention_heads {}", result.hidden, result.heads));
    }
    result.head_dim = result.hidden / result.heads;
  }
  if (result.head_dim % 2 != 0 || result.head_dim > kMaxHeadDim) {
    fields.fail("head_dim",
                fmt::format("expected an even number up to {}, found {}", kMaxHeadDim, result.head_dim));
  }

  result.norm_eps = static_cast<float>(fields.find_number("rms_norm_eps", 0, 1).value_or(result.norm_eps));
  result.tied_embeddings = fields.flag("tie_word_embeddings");
  result.qkv_bias = read_bias(fields, family->qkv_bias, "attention_bias");
  result.o_bias = read_bias(fields, family->o_bias, "attention_bias");
  result.mlp_bias = read_bias(fields, family->mlp_bias, "mlp_bias");
  result.qk_norm = family->qk_norm;

  const auto max_positions =
      fields.find_int("max_position_embeddings", kMaxContext).value_or(family->default_context);
  result.rope = read_rope(fields, result.head_dim, max_positions);
  result.context_limit = extended_context(result.rope, max_positions);
  result.max_context =
      result.rope.scaling == RopeConfig::Scaling::Dynamic ? max_positions : result.context_limit;
  result.sliding_window = read_window(fields, *family, result.layers);
  if (result.sliding_window > 0) {
    result.max_context = std::min(result.max_context, result.sliding_window);
    result.context_limit = std::min(result.context_limit, result.sliding_window);
  }
  return result;
}

}  // namespace augur
