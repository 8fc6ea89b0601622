#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "kernels/gemm.h"
#include "kernels/input_form.h"
#include "kernels/quant_rows.h"
#include "model/config.h"
#include "model/expert_rows.h"

namespace augur {

/// Rows of one width, 64-byte aligned. Columns that nobody writes stay zero, as the products' padding must.
/// Grows by ensure(), which forgets the rows; otherwise nothing is allocated.
class RowBuffer {
 public:
  RowBuffer() = default;
  /// `grain`: the stride is the width rounded up to it (16 for results of products, which are F32; their
  /// inputs have the stride of activation_stride()).
  RowBuffer(InputForm form, std::int64_t width, std::int64_t grain)
      : stride_((width + grain - 1) / grain * grain), bytes_(row_bytes(form, stride_)) {}

  void ensure(std::int64_t rows) {
    if (rows <= rows_) return;
    const auto held = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
    memory_ = PageMemory(static_cast<std::size_t>(held * bytes_));
    rows_ = held;  // not before the memory is there: it may be refused
  }
  std::int64_t stride() const { return stride_; }  ///< elements
  void* row(std::int64_t index) const { return memory_.data() + index * bytes_; }
  float* floats(std::int64_t index) const { return static_cast<float*>(row(index)); }

 private:
  std::int64_t stride_ = 0;
  std::int64_t bytes_ = 0;  ///< of a row
  std::int64_t rows_ = 0;
  PageMemory memory_;
};

/// Rows that products read, in each of the forms that some of them want: one, but for models that mix
/// quantised matrices with others. A form has memory once it was ensured.
class InputRows {
 public:
  InputRows() = default;
  /// Width 0: none.
  explicit InputRows(std::int64_t width) : stride_(width > 0 ? activation_stride(width) : 0) {}

  void ensure(InputForm form, std::int64_t rows) {
    RowBuffer& buffer = buffers_[index(form)];
    if (buffer.stride() == 0) buffer = RowBuffer(form, stride_, 1);
    buffer.ensure(rows);
  }
  std::int64_t stride() const { return stride_; }  ///< elements, of every form
  void* row(InputForm form, std::int64_t row) const { return buffers_[index(form)].row(row); }

 private:
  static constexpr std::size_t index(InputForm form) { return static_cast<std::size_t>(form); }

  std::array<RowBuffer, 4> buffers_;  ///< by InputForm
  std::int64_t stride_ = 0;
};

/// The same for all rows at once, or, few rows, for every thread separately: preparing them anew is cheaper
/// than a barrier.
struct PreparedRows {
  PreparedRows() = default;
  explicit PreparedRows(std::int64_t width) : shared(width), own(width) {}

  InputRows shared;  ///< [rows, width]
  InputRows own;     ///< [threads * own_rows, width]
};

/// Tiles of states that a thread has read from a cache's memory and written to it, since the workspace is.
struct alignas(64) StateTraffic {
  std::int64_t read = 0;
  std::int64_t written = 0;
};

/// The activations of a forward pass: one buffer, one meaning. Which phase of a pass reads and writes which:
/// the table above ForwardPass::run().
struct Workspace {
  /// Up to so many elements every thread prepares all rows for itself: that is cheaper than a barrier.
  static constexpr std::int64_t kOwnElements = 8192;

  /// True when what a layer's blocks give goes through `block_results`.
  static bool has_block_results(const LayerSpec& layer) {
    return layer.norms != NormPlace::Before || layer.residual_scale != 1.0f;
  }
  /// `given_width`: width of a given attention input (ForwardOptions::attention_input); 0: none.
  Workspace(const ModelConfig& config, int threads, std::int64_t given_width = 0);

  /// About the bytes that ensure_forward() takes for so many rows of a dense model's layers, or those that a
  /// mixture's rows share, all of whose inputs have one form.
  std::int64_t estimated_bytes(std::int64_t rows) const;
  /// True when each thread is to prepare rows of its own.
  bool prepares_own(std::int64_t rows) const { return rows <= own_rows; }
  /// Everything that layers whose products take rows in `forms` need.
  void ensure_forward(std::int64_t rows, std::span<const InputForm> forms, std::size_t scratch_bytes);
  void ensure_block_inputs(InputForm form, std::int64_t rows) { ensure_prepared(block_inputs, form, rows); }
  std::byte* scratch(int rank) const {
    return scratch_memory.data() + static_cast<std::size_t>(rank) * scratch_stride;
  }

  int threads;
  std::int64_t own_rows;
  ExpertSpec experts;       ///< of the layers that have some
  RecurrentSpec recurrent;  ///< likewise
  bool any_gated;           ///< some layer's attention has a gate
  bool any_block_results;   ///< some layer has_block_results()
  RowBuffer residual;       ///< [rows, hidden] float32
  RowBuffer
      block_results;  ///< [rows, hidden] float32: what a block adds, where that is normed or scaled first
  PreparedRows block_inputs;  ///< [rows, hidden] what a block's first product reads
  InputRows given_inputs;     ///< [rows, given width] the same, given to the first layer's attention
  RowBuffer qkv;  ///< [rows, (heads + 2 * kv_heads) * head_dim] float32: queries, keys, values; of a layer
                  ///< with a short convolution [rows, 3 * hidden]: b, c, x
  /// [rows, channels] float32 of a recurrence: q, k, v, and then in the values' place what its heads give
  RowBuffer recurrent_rows;
  /// [rows, 2 * value heads rounded up to 16] float32: b or dt, and a; then beta or the step, and alpha
  RowBuffer recurrent_gates;
  InputRows attention_results;  ///< [rows, heads * head_dim], or of such a layer [rows, hidden]
  PreparedRows output_inputs;   ///< [rows, heads * head_dim] attention's results, quantised
  RowBuffer gate_up;            ///< [rows, pairs of 16 gate and 16 up, or up alone] float32
  InputRows down_inputs;        ///< [rows, intermediate] the activation of gate_up
  // Of layers with experts, by place (ExpertRows) but for the first two.
  InputRows router_inputs;       ///< [rows, hidden] float32, likewise of a recurrence's gates
  RowBuffer router_scores;       ///< [rows, experts] float32
  RowBuffer latent_rows;         ///< [rows, latent] float32: what experts read, then their sums
  PreparedRows latent_inputs;    ///< [rows, latent] these
  InputRows expert_inputs;       ///< [places, hidden or latent]
  RowBuffer expert_gate_up;      ///< [places, pairs of 16 gate and 16 up] float32
  InputRows expert_down_inputs;  ///< [places, expert width]
  RowBuffer expert_results;  ///< [places, hidden or latent] float32, then [rows, hidden] of the shared expert
  ExpertRows expert_rows;
  std::int64_t woken_experts = 0;           ///< distinct ones of every layer, added up, of the pass
  std::vector<StateTraffic> state_traffic;  ///< [threads]
  RowBuffer unpadded_residual;              ///< [rows, hidden] float32, where `residual` has padding
  std::size_t scratch_stride = 0;
  PageMemory scratch_memory;  ///< for attention, by thread

 private:
  void ensure_prepared(PreparedRows& prepared, InputForm form, std::int64_t rows);
};

}  // namespace augur
