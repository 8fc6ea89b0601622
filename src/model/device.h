#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "kernels/fused_top.h"
#include "kernels/logit_form.h"
#include "kernels/packed_matrix.h"
#include "kernels/panel_runs.h"
#include "model/batch_layout.h"
#include "model/config.h"
#include "model/device_memory.h"
#include "model/model.h"
#include "model/weights.h"

// The door to what computes. A model, its caches and its drafters know a Device and nothing behind it:
//
//   Model, drafters ── LayerStack ── DeviceStack     forward, store, project; rows of the result read back
//                  └── VocabularyHead ─ DeviceProduct  rows of the host times a matrix
//   KvCache, kept texts ── KvPagePool ── DeviceMemory   pages: allocate, copy, move, clear, write, read
//
// What crosses it. Into a device: weights, once; tokens, positions, parents and slots of a batch; rows of the
// host where a pass does not begin with an embedding. Out of it, and only when asked for: rows of the
// residual stream (result rows, taps), logits or the largest of them, and pages as bytes. Everything else
// stays there. All that comes out has the bits that the contracts of kernels/ say, on every device: a device
// whose arithmetic is another (a fused operation missing, say) refuses to be made, with an Error.

namespace augur {

/// Rows times a matrix, and what becomes of the results.
struct RowProduct {
  const PackedMatrix* matrix = nullptr;  ///< [n, k], the device's or the host's
  std::span<const float> norm;           ///< [k] of the RMS norm before it; empty: none
  float eps = 0.0f;                      ///< of that norm
  std::span<const float> bias;           ///< [n rounded up to 16]; empty: none
  LogitForm form = {};                   ///< of the results, the bias included
  /// The columns that are computed; empty: all. They come out side by side.
  std::span<const PanelRun> runs = {};
  /// Memory of the host, 64-byte aligned [rows, out_stride], out_stride a multiple of 16 that holds all
  /// columns, panels' padding included. Null: they are not wanted.
  float* out = nullptr;
  std::int64_t out_stride = 0;
  /// Not null: the `best` largest of each row are left there. Of row r the first columns[r] count.
  FusedTop* top = nullptr;
  int best = 0;
  std::span<const std::int64_t> columns = {};
};

/// Products of the host's rows, with the memory that they take. One thread at a time.
class DeviceProduct {
 public:
  virtual ~DeviceProduct() = default;
  /// rows[r]: [k] float32.
  virtual void run(const RowProduct& product, std::span<const float* const> rows) = 0;
};

/// The part of a stack that a device computes. A pass may go through several devices: through layers one
/// after the other, where what one leaves is the next one's ForwardOptions::input; within a layer through
/// routed experts; within a product through columns, in whole panels, heads and blocks, whose rows are
/// gathered where the next product reads them. No sum is ever split, so that the bits are one device's.
struct StackShare {
  Range layers;   ///< empty: all
  Range experts;  ///< of each layer's; empty: all
  int rank = 0;   ///< computes every rank-th of `ranks` parts of the columns
  int ranks = 1;

  bool whole() const { return layers.size() == 0 && experts.size() == 0 && ranks == 1; }
};

/// What a stack is made of. References outlive it.
struct StackSpec {
  const ModelConfig& config;
  DType kv_type;
  std::int64_t context;                                     ///< positions are below it
  std::shared_ptr<const std::vector<LayerWeights>> layers;  ///< the device's: Device::take()
  StackShare share = {};
};

/// Decoder layers on a device, with their activations. One thread at a time.
class DeviceStack {
 public:
  virtual ~DeviceStack() = default;

  /// The rows of a pass, checked and laid out (LayerStack::forward()). Keys and values go to the layout's
  /// slots; taps to their places, which are the host's memory, as are the rows that the options give. Error
  /// for options that the device does not have (ForwardOptions::inputs); a profile may stay empty.
  virtual void forward(const BatchLayout& layout, const TokenBatch& batch, const ForwardOptions& options,
                       const PackedMatrix* embedding) = 0;
  /// LayerStack::store().
  virtual void store(const BatchLayout& layout, const TokenBatch& batch, const float* rows) = 0;

  /// The last forward's result [rows, hidden], for the host: a view where it can look into the device's
  /// memory, otherwise a copy, made once a pass. Valid until the next one.
  virtual std::span<const float> read_result() = 0;
  /// Rows of the last forward's result times a matrix: they do not leave the device before that.
  virtual void project(const RowProduct& product, std::span<const std::int32_t> rows) = 0;
  /// Distinct experts that the last forward's rows went to, those of all its layers added up.
  virtual std::int64_t woken_experts() const = 0;
};

/// Something that computes forward passes, in memory of its own. Outlives all that is made with it. Any
/// thread may make things; what is made says who may use it.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;
  /// The threads and kernels of the host beside it: what verifies, samples and drafts.
  virtual Backend& host() const = 0;
  virtual const std::shared_ptr<DeviceMemory>& memory() const = 0;

  // --- Matrices. They are packed on the host, in the layout of packed_matrix.h; one that was taken is the
  // device's: its panels are read by nobody else.

  virtual void take(PackedMatrix& matrix) = 0;
  /// Row `row` of the device's or the host's matrix as float32 [k], for the host. Any thread.
  virtual void read_row(const PackedMatrix& matrix, std::int64_t row, float* out) const = 0;
  /// Rows [first, first + rows.size()) of `to`, which is the device's, become rows of `from`, bit for bit.
  virtual void copy_rows(PackedMatrix& to, std::int64_t first, const PackedMatrix& from,
                         std::span<const std::int32_t> rows) = 0;

  // --- Work.

  /// Error for a share that the device cannot compute.
  virtual std::unique_ptr<DeviceStack> make_stack(const StackSpec& spec) = 0;
  virtual std::unique_ptr<DeviceProduct> make_product() = 0;
};

}  // namespace augur
