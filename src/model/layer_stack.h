#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/batch_layout.h"
#include "model/device.h"
#include "model/model.h"
#include "model/weights.h"

namespace augur {

/// Of the caches of layers of the configuration, for `capacity` tokens.
KvCache::Shape cache_shape(const ModelConfig& config, DType kv_type, std::int64_t capacity);

/// Decoder layers with all that running them takes: weights, caches, a device. A Model is a stack
/// between an embedding and a head. A draft head is a short stack with an entrance of its own, for which
/// there are three ways in (pack_layer makes the weights):
///   - an embedding, whose rows the tokens choose (Model);
///   - ForwardOptions::embeddings: the residual stream given row by row. With an empty attention_norm the
///     first attention takes it without a norm (EAGLE-1);
///   - ForwardOptions::attention_input beside that, for a first attention that reads something else than the
///     residual stream, of any width (EAGLE-3).
/// Weights are immutable and may be shared; forward() and project() are for one thread at a time.
class LayerStack {
 public:
  /// `config`: shapes of the layers; its vocab bounds TokenBatch::tokens. `context`: positions are below it.
  /// `kv_type`: of its caches: BF16, F32 or Q8_0. The device takes the layers' matrices.
  LayerStack(Device& device, const ModelConfig& config, DType kv_type, std::int64_t context,
             std::vector<LayerWeights> layers);
  /// With layers that other stacks of the device run, too, each with activations of its own.
  LayerStack(Device& device, const ModelConfig& config, DType kv_type, std::int64_t context,
             std::shared_ptr<const std::vector<LayerWeights>> layers);

  const ModelConfig& config() const { return config_; }
  DType kv_type() const { return kv_type_; }
  std::int64_t context() const { return context_; }
  Device& device() const { return device_; }
  Backend& backend() const { return device_.host(); }
  std::span<const LayerWeights> weights() const { return *layers_; }
  std::int64_t bytes() const;  ///< that a one-row forward reads

  /// Error for a capacity beyond the context. 0: the context. All caches of a stack have their pages from the
  /// same pools, so that they can share them.
  KvCache make_cache(std::int64_t capacity = 0) const;

  /// Width of the first attention's input where it is not that of the residual stream; 0: it is.
  static std::int64_t attention_inputs(const std::vector<LayerWeights>& layers, const ModelConfig& config);

  /// Model::forward(), with `embedding` for the look-up (null: ForwardOptions must give the rows).
  void forward(const TokenBatch& batch, const ForwardOptions& options, const PackedMatrix* embedding);

  /// Gives every layer keys and values of rows that do not run through the layers: k and v products of
  /// `rows` [rows, hidden] as they are, keys normed and rotated as any. Tokens and parents of the batch say
  /// nothing here.
  void store(const TokenBatch& batch, const float* rows);

  int result_rows() const { return result_rows_; }
  /// Distinct experts that the last forward's rows went to, those of all its layers added up.
  std::int64_t woken_experts() const { return stack_->woken_experts(); }
  /// The last forward's result, read back: Model::result().
  std::span<const float> result() const { return stack_->read_result(); }
  /// Row of it. [hidden]
  const float* result_row(int row) const { return result().data() + std::int64_t{row} * config_.hidden; }

  /// Rows of the last forward's result times a matrix.
  void project(const RowProduct& product, std::span<const std::int32_t> rows) {
    stack_->project(product, rows);
  }
  /// The same of rows that the host has: `hidden` [count, hidden].
  void project_rows(const RowProduct& product, const float* hidden, int count);

 private:
  void check_options(const TokenBatch& batch, const ForwardOptions& options, bool has_embedding) const;

  Device& device_;
  const ModelConfig config_;
  const DType kv_type_;
  const std::int64_t context_;
  const std::shared_ptr<const std::vector<LayerWeights>> layers_;
  const bool has_entrance_;  ///< the first attention reads ForwardOptions::attention_input
  const std::unique_ptr<DeviceStack> stack_;
  const std::unique_ptr<DeviceProduct> product_;
  BatchLayout layout_;
  std::vector<const float*> rows_;  ///< of project_rows()
  mutable KvCache::Pools pages_;    ///< from the first cache on
  int result_rows_ = 0;
};

}  // namespace augur
