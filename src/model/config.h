#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/layer_spec.h"

namespace augur {

/// A model as data: what Hugging Face's config.json says, normalised. Shapes in elements.
struct ModelConfig {
  std::string family;  ///< a name of the table in families.cpp
  int layers = 0;
  int hidden = 0;
  int intermediate = 0;  ///< of dense layers
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  std::int32_t vocab = 0;
  /// Context to use when none is asked for: what the model was trained or extended to.
  std::int64_t max_context = 0;
  /// Longest context that may be asked for. More than max_context with Dynamic rope scaling only, where a
  /// longer one changes the frequencies.
  std::int64_t context_limit = 0;
  float norm_eps = 1e-6f;
  float norm_offset = 0.0f;      ///< added to the weights of every norm
  float embedding_scale = 1.0f;  ///< of the embedding's rows
  float logit_scale = 1.0f;      ///< of what the head gives
  float logit_cap = 0.0f;        ///< > 0: then cap * tanh(logit / cap)
  bool tied_embeddings = false;

  std::vector<LayerSpec> kinds = {LayerSpec()};  ///< the layers that differ from one another
  std::vector<std::uint8_t> kind_of;             ///< [layers] into kinds; empty: all are the first

  std::size_t kind(int index) const { return kind_of.empty() ? 0 : kind_of[static_cast<std::size_t>(index)]; }
  const LayerSpec& layer(int index) const { return kinds[kind(index)]; }
  /// Of the layers that see the whole context and rotate, where there are such (how far the model was trained
  /// and extended shows there), else of others that rotate.
  const RopeConfig& rope() const;
  /// Of the layers that have any; count 0: none has. They are alike in all families.
  ExpertSpec experts() const;
  /// Likewise.
  ShortConvSpec conv() const;
  RecurrentSpec recurrent() const;
  /// The first layer with attention, of which there is one at least; how many there are.
  int first_attention() const;
  int attention_layers() const;

  /// From config.json. Error names `file` and the field for anything missing, absurd or unsupported.
  static ModelConfig from_json(const nlohmann::json& config, const std::string& file);

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// The layers of a draft head that has the target's sizes: rotated as the target's, with query and key norms
/// per head where that has them, and otherwise Llama's.
ModelConfig head_shape(const ModelConfig& target);

}  // namespace augur
