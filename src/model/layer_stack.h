#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/logit_form.h"
#include "model/batch_plan.h"
#include "model/forward_pass.h"
#include "model/model.h"
#include "model/rope_cache.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace augur {

/// Decoder layers with all that running them takes: weights, rotations, activations. A Model is a stack
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
  /// `kv_type`: of its caches: BF16, F32 or Q8_0.
  LayerStack(Backend& backend, const ModelConfig& config, DType kv_type, std::int64_t context,
             std::vector<LayerWeights> layers);
  /// With layers that other stacks run, too, each with activations of its own.
  LayerStack(Backend& backend, const ModelConfig& config, DType kv_type, std::int64_t context,
             std::shared_ptr<const std::vector<LayerWeights>> layers);

  const ModelConfig& config() const { return config_; }
  DType kv_type() const { return kv_type_; }
  std::int64_t context() const { return context_; }
  Backend& backend() const { return backend_; }
  std::span<const LayerWeights> weights() const { return *layers_; }
  std::int64_t bytes() const;  ///< that a one-row forward reads

  /// Error for a capacity beyond the context. 0: the context. All caches of a stack have their pages from the
  /// same pools, so that they can share them.
  KvCache make_cache(std::int64_t capacity = 0) const;

  /// Model::forward(), with `embedding` for the look-up (null: ForwardOptions must give the rows).
  std::span<const float> forward(const TokenBatch& batch, const ForwardOptions& options,
                                 const PackedMatrix* embedding);

  /// Gives every layer keys and values of rows that do not run through the layers: k and v products of
  /// `rows` [rows, hidden] as they are, keys normed and rotated as any. Tokens and parents of the batch say
  /// nothing here.
  void store(const TokenBatch& batch, const float* rows);

  int result_rows() const { return result_rows_; }
  /// Distinct experts that the last forward's rows went to, those of all its layers added up.
  std::int64_t woken_experts() const { return workspace_.woken_experts; }
  /// Row of the last forward's result. [hidden]
  const float* result_row(int row) const { return workspace_.residual.floats(row); }

  /// A product with rows of width hidden, normed first unless `norm` is null.
  struct Projection {
    const PackedMatrix& matrix;   ///< [n, hidden]
    const float* norm = nullptr;  ///< [hidden]
    float* out = nullptr;         ///< [count, out_stride], 64-byte aligned
    std::int64_t out_stride = 0;  ///< multiple of 16, >= n rounded up to 16
    LogitForm form = {};          ///< of the results
  };
  /// row(0) ... row(count - 1) give the float32 rows.
  template <class RowOf>
  void project(const Projection& p, int count, const RowOf& row) {
    if (count == 0) return;
    workspace_.ensure_block_inputs(p.matrix.input_form(), count);
    backend_.pool.run([&](Team& team) {
      const void* x = prepare_rows(team, workspace_,
                                   {.into = workspace_.block_inputs,
                                    .form = p.matrix.input_form(),
                                    .width = config_.hidden,
                                    .weight = p.norm,
                                    .eps = config_.norm_eps},
                                   count, row);
      const Range panels = team.split(p.matrix.panels());
      backend_.kernels.gemm({.weight = &p.matrix,
                             .x = x,
                             .x_stride = workspace_.block_inputs.shared.stride(),
                             .rows = count,
                             .y = p.out,
                             .y_stride = p.out_stride},
                            panels);
      constexpr std::int64_t kWidth = PackedMatrix::kPanel;
      for (int r = 0; r < count; ++r) {
        p.form.apply(p.out + r * p.out_stride + panels.begin * kWidth, panels.size() * kWidth);
      }
    });
  }

 private:
  void ensure_rotations(std::int64_t positions);
  void check_options(const TokenBatch& batch, const ForwardOptions& options, bool has_embedding) const;

  Backend& backend_;
  const ModelConfig config_;
  const DType kv_type_;
  const std::int64_t context_;
  const std::shared_ptr<const std::vector<LayerWeights>> layers_;
  const std::vector<InputForm> input_forms_;  ///< of the layers' products, each once
  std::vector<RopeCache> ropes_;              ///< by kind of layer
  Workspace workspace_;
  BatchPlan plan_;
  mutable KvCache::Pools pages_;  ///< from the first cache on
  int result_rows_ = 0;
};

}  // namespace augur
