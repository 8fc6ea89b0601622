#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/device.h"
#include "model/rope_cache.h"
#include "model/workspace.h"

namespace augur {

class ForwardPass;

/// Layers that a team of threads walks through (forward_pass.h).
class CpuStack final : public DeviceStack {
 public:
  CpuStack(Backend& backend, const StackSpec& spec);

  void forward(const BatchLayout& layout, const TokenBatch& batch, const ForwardOptions& options,
               const PackedMatrix* embedding) override;
  void store(const BatchLayout& layout, const TokenBatch& batch, const float* rows) override;
  std::span<const float> read_result() override;
  void project(const RowProduct& product, std::span<const std::int32_t> rows) override;
  std::int64_t woken_experts() const override { return workspace_.woken_experts; }

 private:
  /// A pass over the layout's rows; everything named outlives it.
  ForwardPass pass(const BatchLayout& layout, const TokenBatch& batch, const ForwardOptions& options,
                   const PackedMatrix* embedding);
  void ensure_rotations(std::int64_t positions);

  Backend& backend_;
  const ModelConfig& config_;
  const DType kv_type_;
  const std::shared_ptr<const std::vector<LayerWeights>> layers_;
  const std::vector<InputForm> input_forms_;  ///< of the layers' products, each once
  std::vector<RopeCache> ropes_;              ///< by kind of layer
  Workspace workspace_;
  int result_rows_ = 0;
};

/// Null where there is none.
inline const float* norm_of(const RowProduct& product) {
  return product.norm.empty() ? nullptr : product.norm.data();
}

/// Rows as a product reads them.
struct ReadyRows {
  const void* x = nullptr;
  std::int64_t stride = 0;  ///< elements
  int count = 0;
};

/// Before the region in which multiply_rows() is called.
void prepare_top(const Backend& backend, const RowProduct& product, int rows);
/// On every thread of a region, when the rows are ready. RowProduct::top is to be merged after it.
void multiply_rows(const Team& team, const KernelSet& kernels, const RowProduct& product,
                   const ReadyRows& rows);

}  // namespace augur
