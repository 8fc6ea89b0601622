#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/json_fields.h"
#include "model/block_pattern.h"
#include "model/config_bounds.h"
#include "model/families.h"
#include "model/layer_reader.h"

namespace augur {

namespace {

using Fields = JsonFields;

/// LFM2 states the width of the feed-forward that a plain one with as many weights would have.
std::int64_t read_adjusted_intermediate(const Fields& fields) {
  const bool older = fields.has("block_ff_dim");
  std::int64_t width = fields.require_int(older ? "block_ff_dim" : "intermediate_size", kMaxIntermediate);
  if (!fields.flag("block_auto_adjust_ff_dim", true)) return width;
  width = width * 2 / 3;
  const bool null =
      fields.has("block_ffn_dim_multiplier") && fields.find("block_ffn_dim_multiplier") == nullptr;
  const double multiplier = fields.find_number("block_ffn_dim_multiplier", kMinScale, kMaxScale).value_or(1);
  const double scaled = multiplier * static_cast<double>(width);
  const std::int64_t multiple =
      null ? 1 : fields.find_int("block_multiple_of", kMaxIntermediate).value_or(256);
  if (!(scaled >= 1 && scaled <= static_cast<double>(kMaxIntermediate - multiple))) {
    fields.fail("block_ffn_dim_multiplier",
                fmt::format("{} of {}, up to a multiple of {}, is no width", multiplier, width, multiple));
  }
  return (static_cast<std::int64_t>(scaled) + multiple - 1) / multiple * multiple;
}

void read_shapes(const Fields& fields, const Family& family, ModelConfig& out) {
  out.layers = family.single_blocks ? static_cast<int>(read_block_pattern(fields).size())
                                    : static_cast<int>(fields.require_int("num_hidden_layers", kMaxLayers));
  out.hidden = static_cast<int>(fields.require_int("hidden_size", kMaxHidden));
  out.intermediate = static_cast<int>(family.adjusted_intermediate
                                          ? read_adjusted_intermediate(fields)
                                          : fields.require_int(family.intermediate, kMaxIntermediate));
  out.heads = static_cast<int>(fields.require_int("num_attention_heads", kMaxHeads));
  out.vocab = static_cast<std::int32_t>(fields.require_int("vocab_size", kMaxVocab));

  const bool absent = !fields.has("num_key_value_heads") && family.default_kv_heads > 0;
  out.kv_heads = static_cast<int>(fields.find_int("num_key_value_heads", kMaxHeads)
                                      .value_or(absent ? family.default_kv_heads : out.heads));
  if (out.heads % out.kv_heads != 0) {
    fields.fail("num_key_value_heads",
                fmt::format("{} does not divide num_attention_heads {}", out.kv_heads, out.heads));
  }
  auto head_dim = fields.find_int("head_dim", kMaxHeadDim);
  if (!head_dim && family.single_blocks)  // as older files have it
    head_dim = fields.find_int("attention_head_dim", kMaxHeadDim);
  if (head_dim) {
    out.head_dim = static_cast<int>(*head_dim);
  } else if (family.default_head_dim > 0) {
    out.head_dim = family.default_head_dim;
  } else {
    if (out.hidden % out.heads != 0) {
      fields.fail("hidden_size",
                  fmt::format("{} is no multiple of num_attention_heads {}", out.hidden, out.heads));
    }
    out.head_dim = out.hidden / out.heads;
  }
  if (out.head_dim % 2 != 0 || out.head_dim > kMaxHeadDim) {
    fields.fail("head_dim",
                fmt::format("expected an even number up to {}, found {}", kMaxHeadDim, out.head_dim));
  }
  out.norm_eps = static_cast<float>(fields.find_number(family.norm_eps, 0, 1).value_or(family.default_eps));
  out.norm_offset = family.norm_offset;
}

/// Keys that some families multiply, cap or choose by: with a family that does not read them they would be
/// ignored in silence.
void refuse_unread(const Fields& fields, bool read, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (!read && fields.find(key) != nullptr) {
      fields.fail(key, "is not supported for this model_type", ErrorKind::Unsupported);
    }
  }
}

void read_scales(const Fields& fields, const Family& family, ModelConfig& out) {
  const auto scale = [&](const char* key) {
    return fields.find_number(key, kMinScale, kMaxScale).value_or(1.0);
  };
  if (family.root_embedding) out.embedding_scale = std::sqrt(static_cast<float>(out.hidden));
  if (family.multipliers) {
    out.embedding_scale = static_cast<float>(scale("embedding_multiplier"));
    out.logit_scale = static_cast<float>(1 / scale("logits_scaling"));
  }
  if (family.caps) out.logit_cap = read_cap(fields, "final_logit_softcapping", family.logit_cap);
  refuse_unread(fields, family.caps, {"final_logit_softcapping", "attn_logit_softcapping"});
  refuse_unread(fields, family.multipliers,
                {"embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier"});
  refuse_unread(fields, family.query_scalar > 0, {"query_pre_attn_scalar"});
  refuse_unread(fields, family.shared_expert, {"shared_expert_intermediate_size"});
  refuse_unread(fields, family.delta, {"linear_num_key_heads", "linear_num_value_heads"});
  refuse_unread(fields, family.mamba != nullptr, {"mamba_n_heads", "mamba_d_state"});
}

/// A longer context than max_position_embeddings where the scaling is meant to extend it: Hugging Face's
/// linear (but for some families) and dynamic keep the original length in that key, yarn keeps either.
std::int64_t extended_context(const Family& family, const RopeConfig& rope, std::int64_t max_positions) {
  using Scaling = RopeConfig::Scaling;
  if (rope.scaling == Scaling::Linear && family.scaled_positions) return max_positions;
  if (rope.scaling != Scaling::Linear && rope.scaling != Scaling::Dynamic && rope.scaling != Scaling::Yarn) {
    return max_positions;
  }
  const double extended = rope.factor * static_cast<double>(rope.original_context);
  const auto bounded = static_cast<std::int64_t>(std::min(extended, static_cast<double>(kMaxContext)));
  return std::max(max_positions, bounded);
}

/// The layers, and the contexts that their rotations allow.
void read_layers(const Fields& fields, const Family& family, ModelConfig& out) {
  const auto max_positions =
      fields.find_int("max_position_embeddings", kMaxContext).value_or(family.default_context);
  LayerReader reader(fields, family, out, max_positions);
  out.kinds.clear();
  for (int i = 0; i < out.layers; ++i) {
    const LayerSpec layer = reader.layer(i);
    const auto known = std::find(out.kinds.begin(), out.kinds.end(), layer);
    out.kind_of.push_back(static_cast<std::uint8_t>(known - out.kinds.begin()));
    if (known == out.kinds.end()) out.kinds.push_back(layer);
  }
  if (out.kinds.size() == 1) out.kind_of.clear();

  using Scaling = RopeConfig::Scaling;
  const RopeConfig& rope = reader.full_rope();
  out.context_limit = extended_context(family, rope, max_positions);
  out.max_context = rope.scaling == Scaling::Dynamic ? max_positions
                    : !rope.long_factors.empty()     ? std::min(rope.original_context, out.context_limit)
                                                     : out.context_limit;
}

/// Of Hugging Face's quantised folders gpt-oss's are read, whose experts are MXFP4.
void refuse_quantised(const Fields& fields, const Family& family) {
  const nlohmann::json* const quantised = fields.find("quantization_config");
  if (quantised == nullptr) return;
  const bool mxfp4 = quantised->is_object() && quantised->value("quant_method", nlohmann::json()) == "mxfp4";
  if (mxfp4 && family.experts == ExpertRule::GptOss) return;
  fields.fail("quantization_config", "quantised Hugging Face checkpoints are not supported, but gpt-oss's",
              ErrorKind::Unsupported);
}

}  // namespace

ModelConfig head_shape(const ModelConfig& target) {
  ModelConfig shape = target;
  shape.family = "llama";
  shape.norm_offset = 0;
  shape.embedding_scale = shape.logit_scale = 1;
  shape.logit_cap = 0;
  LayerSpec layer;
  layer.rope = target.rope();
  if (target.layer(target.first_attention()).qk_norm == QkNorm::PerHead) layer.qk_norm = QkNorm::PerHead;
  shape.kinds = {layer};
  shape.kind_of.clear();
  return shape;
}

const RopeConfig& ModelConfig::rope() const {
  const auto rotates = [](const LayerSpec& kind) { return !kind.rope.none; };
  auto it = std::ranges::find_if(kinds, [&](const auto& kind) { return kind.window == 0 && rotates(kind); });
  if (it == kinds.end()) it = std::ranges::find_if(kinds, rotates);
  return (it == kinds.end() ? kinds.front() : *it).rope;
}

ExpertSpec ModelConfig::experts() const {
  const auto it =
      std::find_if(kinds.begin(), kinds.end(), [](const LayerSpec& kind) { return kind.experts.count > 0; });
  return it == kinds.end() ? ExpertSpec{} : it->experts;
}

ShortConvSpec ModelConfig::conv() const {
  const auto it =
      std::find_if(kinds.begin(), kinds.end(), [](const LayerSpec& kind) { return kind.conv.taps > 0; });
  return it == kinds.end() ? ShortConvSpec{} : it->conv;
}

RecurrentSpec ModelConfig::recurrent() const {
  const auto it =
      std::find_if(kinds.begin(), kinds.end(), [](const LayerSpec& kind) { return kind.recurs(); });
  return it == kinds.end() ? RecurrentSpec{} : it->recurrent;
}

int ModelConfig::first_attention() const {
  int index = 0;
  while (!layer(index).attends()) ++index;
  return index;
}

int ModelConfig::attention_layers() const {
  int count = 0;
  for (int i = 0; i < layers; ++i) count += layer(i).attends() ? 1 : 0;
  return count;
}

ModelConfig ModelConfig::from_json(const nlohmann::json& config, const std::string& file) {
  if (!config.is_object()) throw Error("{}: expected an object", file);
  const Fields fields(config, file);
  const auto type = fields.find_string("model_type");
  if (!type) fields.fail("model_type", "missing");
  const Family* family = find_family(*type);
  if (family == nullptr) {
    std::string known;
    for (const Family& f : families()) known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
    fields.fail("model_type", fmt::format("{:?} is not supported (known: {})", *type, known),
                ErrorKind::Unsupported);
  }
  refuse_quantised(fields, *family);

  ModelConfig result;
  result.family = family->name;
  read_shapes(fields, *family, result);
  read_scales(fields, *family, result);
  result.tied_embeddings = fields.flag("tie_word_embeddings", family->tied);
  if (family->conv) result.tied_embeddings = fields.flag("tie_embedding", result.tied_embeddings);
  read_layers(fields, *family, result);
  return result;
}

}  // namespace augur
