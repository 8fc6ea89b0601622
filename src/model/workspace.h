#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/buffer.h"
#include "base/dtype.h"
#include "model/config.h"

namespace augur {

/// Rows of one width, 64-byte aligned. Columns that nobody writes stay zero, as the products' padding must.
/// Grows by ensure(), which forgets the rows; otherwise nothing is allocated.
class RowBuffer {
 public:
  RowBuffer() = default;
  /// `grain`: the stride is the width rounded up to it (16 for results of products; their inputs
  /// have the stride of activation_stride()).
  RowBuffer(DType type, std::int64_t width, std::int64_t grain)
      : stride_((width + grain - 1) / grain * grain), element_(block_shape(type).bytes) {}

  void ensure(std::int64_t rows) {
    if (rows <= rows_) return;
    rows_ = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
    memory_ = PageMemory(static_cast<std::size_t>(rows_ * stride_ * element_));
  }
  std::int64_t stride() const { return stride_; }
  void* row(std::int64_t index) const { return memory_.data() + index * stride_ * element_; }
  float* floats(std::int64_t index) const { return static_cast<float*>(row(index)); }

 private:
  std::int64_t stride_ = 0;
  std::int64_t element_ = 4;
  std::int64_t rows_ = 0;
  PageMemory memory_;
};

/// The activations of a forward pass: one buffer, one meaning. `type` is that of the weights: products take
/// their inputs in it.
struct Workspace {
  /// Up to so many elements every thread normalises all rows for itself: that is cheaper than a barrier.
  static constexpr std::int64_t kOwnNormElements = 8192;

  /// `attention_inputs`: width of a given attention input (ForwardOptions::attention_input); 0: none.
  Workspace(const ModelConfig& config, DType type, int threads, std::int64_t attention_inputs = 0);

  /// True when each thread is to keep normalised rows of its own.
  bool own_norms(std::int64_t rows) const { return rows <= own_rows; }
  void ensure_forward(std::int64_t rows, std::size_t scratch_bytes);
  void ensure_normed(std::int64_t rows);
  std::byte* scratch(int rank) const {
    return scratch_memory.data() + static_cast<std::size_t>(rank) * scratch_stride;
  }

  DType type;
  int threads;
  std::int64_t own_rows;
  RowBuffer residual;    ///< [rows, hidden] float32
  RowBuffer normed;      ///< [rows, hidden] shared by the threads
  RowBuffer own_normed;  ///< [threads * own_rows, hidden]
  RowBuffer entrance;    ///< [rows, attention_inputs] given to the first layer's attention
  RowBuffer qkv;         ///< [rows, heads * head_dim + kv_heads * (head_dim key, head_dim value)] float32
  RowBuffer attended;    ///< [rows, heads * head_dim]
  RowBuffer gate_up;     ///< [rows, pairs of 16 gate and 16 up] float32
  RowBuffer activated;   ///< [rows, intermediate]
  RowBuffer result;      ///< [rows, hidden] float32 without padding, where `residual` has some
  std::size_t scratch_stride = 0;
  PageMemory scratch_memory;  ///< for attention, by thread
};

}  // namespace augur
