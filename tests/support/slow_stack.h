#pragma once
#include <vector>

#include "model/rope_cache.h"
#include "support/slow_device.h"

namespace augur::testing_support {

/// Float32 rows.
struct SlowRows {
  SlowRows() = default;
  SlowRows(std::int64_t row_count, std::int64_t row_width)
      : count(row_count), width(row_width), values(static_cast<std::size_t>(row_count * row_width)) {}
  float* row(std::int64_t r) { return values.data() + r * width; }
  const float* row(std::int64_t r) const { return values.data() + r * width; }

  std::int64_t count = 0;
  std::int64_t width = 0;
  std::vector<float> values;
};

class SlowProduct final : public DeviceProduct {
 public:
  explicit SlowProduct(const SlowDevice& device) : device_(device) {}
  void run(const RowProduct& product, std::span<const float* const> rows) override;

 private:
  const SlowDevice& device_;
};

class SlowStack final : public DeviceStack {
 public:
  SlowStack(const SlowDevice& device, const StackSpec& spec);

  void forward(const BatchLayout& layout, const TokenBatch& batch, const ForwardOptions& options,
               const PackedMatrix* embedding) override;
  void store(const BatchLayout& layout, const TokenBatch& batch, const float* rows) override;
  std::span<const float> read_result() override;
  void project(const RowProduct& product, std::span<const std::int32_t> rows) override;
  std::int64_t woken_experts() const override { return woken_experts_; }

 private:
  struct Pass {
    const BatchLayout& layout;
    const TokenBatch& batch;
    const ForwardOptions& options;
  };

  const LayerWeights& layer(int index) const { return (*layers_)[static_cast<std::size_t>(index)]; }
  void enter(const Pass& pass, const PackedMatrix* embedding);
  void read_taps(const Pass& pass, int index) const;
  SlowRows multiply(const PackedMatrix& matrix, const SlowRows& x, const std::vector<float>& bias) const;
  SlowRows multiply_qkv(int index, const SlowRows& x) const;
  SlowRows normed(const SlowRows& x, const std::vector<float>& weight) const;
  void rotate_and_store(const Pass& pass, int index, SlowRows& qkv);
  SlowRows attend(const Pass& pass, int index, const SlowRows& qkv);
  SlowRows run_recurrent(const Pass& pass, int index, const SlowRows& x, const SlowRows& qkvz);
  SlowRows convolve(const Pass& pass, int index, const SlowRows& bcx);
  void attention_block(const Pass& pass, int index);
  SlowRows feed_forward(const PackedMatrix& gate_up, const std::vector<float>& gate_up_bias,
                        const PackedMatrix& down, const std::vector<float>& down_bias, Activation activation,
                        const SlowRows& x) const;
  void feed_forward_block(int index);
  void expert_block(int index);
  void add(SlowRows added, const std::vector<float>& norm, float scale);

  const SlowDevice& device_;
  const ModelConfig& config_;
  const DType kv_type_;
  const std::shared_ptr<const std::vector<LayerWeights>> layers_;
  std::vector<RopeCache> ropes_;
  SlowRows residual_;
  std::int64_t woken_experts_ = 0;
  SlowProduct head_;
  std::vector<float> read_;        ///< the result, when the host has asked for it
  std::vector<std::byte*> table_;  ///< pages of the layer in hand
};

}  // namespace augur::testing_support
