#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "files/weight_store.h"
#include "kernels/packed_matrix.h"
#include "model/config.h"
#include "model/fused_matrix.h"

namespace augur {

/// One expert's feed-forward, as LayerWeights has a dense one.
struct ExpertWeights {
  PackedMatrix gate_up;
  PackedMatrix down;
  std::vector<float> gate_up_bias, down_bias;
};

/// One decoder layer. Products that read the same rows are one matrix, so that they are one operation.
struct LayerWeights {
  // Norms of what a block reads, and of what it adds to the residual stream [hidden]; empty: none.
  std::vector<float> attention_norm, attention_after_norm;
  std::vector<float> mlp_norm, mlp_after_norm;
  /// By LayerSpec::qk_norm: [head_dim], or [heads * head_dim] and [kv_heads * head_dim], or empty.
  std::vector<float> q_norm, k_norm;
  std::vector<float> sinks;  ///< [heads], or empty
  /// Rows: all query heads, all key heads, all value heads, then all heads' gates where LayerSpec::gated; or
  /// a convolution's b, c, x; or a recurrence's queries, keys, values, z.
  FusedMatrix qkv;
  PackedMatrix o;
  std::vector<float> taps, taps_bias;  ///< [taps, channels] and [channels] of a convolution, or empty
  // Of a recurrence: what gives b and a, in float32 [2 * value_heads rounded up to 16, hidden], the a of
  // value head 0 first of the second half, or dt [value_heads, hidden]; -exp(A_log) and dt_bias
  // [value_heads]; of Mamba2 D [value_heads]; the weights of its norm [RecurrentSpec::norm_weights()].
  PackedMatrix recurrent_gates;
  std::vector<float> recurrent_decay, recurrent_bias, recurrent_skip, recurrent_norm;
  /// Panels of 16 rows, alternately of gate and of up: whoever computes a pair of panels can apply the
  /// activation to it. Gate and up are padded to whole panels. Up alone where the activation has no gate.
  PackedMatrix gate_up;
  PackedMatrix down;
  // Where the layer has experts these two are those of the one that all rows go to, if there is one, and its
  // gate [hidden], if it has one; the others come beside it. Rows are routed in float32.
  std::vector<float> shared_scale;  ///< or empty
  PackedMatrix router;              ///< [experts, hidden]
  std::vector<float> router_bias;
  std::vector<float> choice_bias;      ///< [experts] by which they are chosen and not shared, or empty
  PackedMatrix latent_in, latent_out;  ///< [latent, hidden] and back, where ExpertSpec::latent
  std::vector<ExpertWeights> experts;
  std::vector<float> qkv_bias, o_bias, gate_up_bias, down_bias;  ///< by row, padded to 16; empty when none
};

/// Calls visit(matrix, share) for every matrix of a layer; `share`: how often a row reads it on average.
/// `Layer`: LayerWeights, const or not.
template <class Layer, class Visit>
void for_each_matrix(Layer& layer, const LayerSpec& spec, const Visit& visit) {
  for (auto& matrix : layer.qkv.matrices) visit(matrix, 1.0);
  for (auto* matrix : {&layer.recurrent_gates, &layer.o, &layer.gate_up, &layer.down, &layer.router,
                       &layer.latent_in, &layer.latent_out}) {
    if (matrix->k() > 0) visit(*matrix, 1.0);
  }
  if (layer.experts.empty()) return;
  const double share = static_cast<double>(spec.experts.active) / static_cast<double>(layer.experts.size());
  for (auto& expert : layer.experts) {
    visit(expert.gate_up, share);
    visit(expert.down, share);
  }
}

/// What matrices are packed to.
struct WeightForm {
  DType floats = DType::BF16;  ///< BF16 or F32, for what is not quantised, or not taken as it is
  bool native = false;         ///< block-quantised matrices keep their stored values
  /// What other matrices are quantised to, where their rows are whole blocks of it; none: they stay floats.
  std::optional<DType> quantize = std::nullopt;

  /// What a matrix with rows of `k` numbers that does not keep its stored values becomes.
  DType packed_type(std::int64_t k) const;
  /// What a matrix that is stored as `stored` becomes.
  DType packed_type(DType stored, std::int64_t k) const;
};

struct ModelWeights {
  PackedMatrix embedding;  ///< [vocab, hidden]
  PackedMatrix head;       ///< [vocab, hidden]; not valid when tied
  bool tied = false;
  std::vector<float> final_norm;  ///< [hidden]
  std::vector<LayerWeights> layers;

  const PackedMatrix& lm_head() const { return tied ? embedding : head; }
};

/// Reads rows [first, first + count) of a matrix, or a whole vector (0, 1), as float32. Thread-safe.
using RowReader = std::function<void(std::int64_t first, std::int64_t count, float* out)>;

/// A block-quantised matrix as it lies in a file. Thread-safe, valid while the source's file is and
/// `scratch`, where a row may be put together, does not change.
struct StoredRows {
  DType type = DType::Q8_0;
  /// Row length in whole blocks.
  std::function<std::span<const std::byte>(std::int64_t row, std::vector<std::byte>& scratch)> row;
};

/// Where weights come from. open() checks name and shape at once (Error) and returns what reads the values.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual RowReader open(const std::string& name, const Shape& shape) = 0;
  /// Whether there is a tensor of this name. A source that makes its tensors does not say: false.
  virtual bool has(const std::string&) const { return false; }
  /// A matrix that open() has found, if it is block-quantised.
  virtual std::optional<StoredRows> stored(const std::string&) { return std::nullopt; }
  /// Names all that open() and stored() read from, so that two sources of one identity give the same values.
  /// Empty: nobody knows.
  virtual std::string identity() const { return {}; }
  /// Called when everything was opened and nothing read yet. May throw Error.
  virtual void all_opened() {}
};

/// A checkpoint's tensors. Values of block-quantised tensors that are read as floats are rounded to bf16,
/// whatever type they are packed to: that is the model such a file stands for when it is expanded, and
/// float32 then adds exact arithmetic only.
class StoredWeights : public WeightSource {
 public:
  /// `tied`: a stored head is a copy of the embedding, and ignored.
  StoredWeights(const WeightStore& store, bool tied) : store_(store), tied_(tied) {}
  RowReader open(const std::string& name, const Shape& shape) override;
  bool has(const std::string& name) const override { return store_.find(name) != nullptr; }
  std::optional<StoredRows> stored(const std::string& name) override;
  std::string identity() const override { return store_.identity(); }
  /// A tensor that is known and not wanted as weights: no left-over if it is there.
  void pass_over(std::string name) { used_.push_back(std::move(name)); }
  /// Likewise all whose names begin so.
  void pass_over_all(std::string_view prefix);
  /// Error for tensors that open() was not asked for, except those that never matter.
  void all_opened() override;

 private:
  const WeightStore& store_;
  bool tied_;
  std::vector<std::string> used_;
};

/// Those of a model; layers that draft beside it are passed over.
StoredWeights stored_model(const WeightStore& store, const ModelConfig& config);

/// Uniform values, scaled so that activations keep their size; norms are 1. Reproducible: a value depends on
/// (seed, name, index) only.
class RandomWeights : public WeightSource {
 public:
  explicit RandomWeights(std::uint64_t seed) : seed_(seed) {}
  RowReader open(const std::string& name, const Shape& shape) override;

 private:
  std::uint64_t seed_;
};

/// Bytes that pack_weights() would fill with matrices: their names, shapes and types are looked at, no more.
/// The same errors for what is missing or mis-shaped.
std::int64_t packed_weight_bytes(const ModelConfig& config, WeightForm form, WeightSource& source);

/// Opens every tensor of the configuration, then packs them with all threads of the pool (WeightPacker::run).
ModelWeights pack_weights(ThreadPool& pool, const ModelConfig& config, WeightForm form, WeightSource& source,
                          const std::function<void(double)>& progress);

}  // namespace augur
