#pragma once
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "kernels/backend.h"
#include "kernels/ops.h"
#include "model/batch_layout.h"
#include "model/model.h"
#include "model/rope_cache.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace augur {

/// One thread's walk through the layers. All threads of a team run the same phases, each on its part of the
/// columns, heads or rows, with a barrier wherever a phase reads what others wrote (the table above run(), in
/// forward_pass.cpp).
///
/// The partition never enters a result: products are cut by output columns, everything else by rows and
/// heads.
class ForwardPass {
 public:
  /// What a pass works with. References outlive it.
  struct Inputs {
    const ModelConfig& config;
    std::span<const LayerWeights> layers;
    const PackedMatrix* embedding;  ///< null: rows are always given
    const KernelSet& kernels;
    std::span<const RopeCache> ropes;  ///< by kind of layer
    const BatchLayout& layout;
    Workspace& workspace;
  };
  ForwardPass(const Inputs& in, const TokenBatch& batch, const ForwardOptions& options)
      : config_(in.config),
        layers_(in.layers),
        embedding_(in.embedding),
        kernels_(in.kernels),
        ropes_(in.ropes),
        layout_(in.layout),
        ws_(in.workspace),
        batch_(batch),
        options_(options) {}

  /// Runs on every thread of one region. The result is in the workspace's `residual`.
  void run(Team& team) const;
  /// Keys and values of the rows `given` [rows, hidden] in every layer, and nothing else: the rows enter each
  /// layer's k and v products as they are. Likewise on every thread.
  void store(Team& team, const float* given) const;

 private:
  class Timer;
  /// A product of a layer: what it reads, and where its results go.
  struct Product {
    ProductInput::Product name;
    int layer;
    int expert = -1;  ///< as ProductInput has it
    const PackedMatrix& matrix;
    const void* x;  ///< rows as the matrix takes them
    std::int64_t x_stride;
    int rows;
    const RowBuffer* out = nullptr;
    std::int64_t first_row = 0;  ///< of `out`
    const float* bias = nullptr;
    bool accumulate = false;  ///< as GemmCall has it
  };
  /// The last product of a block, and what happens to it on the way to the residual stream.
  struct BlockEnd {
    Product product;                 ///< where its results go is decided later
    const std::vector<float>& norm;  ///< empty: none
    float scale;
    ForwardProfile::Step step;
  };

  int last_layer() const { return options_.last_layer < 0 ? config_.layers : options_.last_layer; }
  void load_rows(Range rows) const;
  void copy_taps(Range rows, int layer) const;
  const void* attention_input(Team& team, int index) const;
  const void* output_input(Team& team, int index) const;
  void norm_whole_queries_and_keys(Range rows, int index) const;
  /// What attention, or what stands in its place, makes of the first product: attention_results.
  void mix(Team& team, int index, Timer& timer) const;
  void convolve(Range columns, int index) const;
  void mix_recurrent(Team& team, int index, Timer& timer) const;
  void gate_heads(Range rows, int index) const;
  void attention_block(Team& team, int index, Timer& timer) const;
  void mlp_block(Team& team, int index, Timer& timer) const;
  void expert_block(Team& team, int index, Timer& timer) const;
  void route_rows(Team& team, int index, Timer& timer) const;
  void enter_latent(Team& team, int index, Timer& timer) const;
  void leave_latent(Team& team, int index, Timer& timer) const;
  void observe(const Team& team, const ProductInput& input) const;
  /// This thread's part of a product, which an observer sees.
  void multiply(const Team& team, const Product& product, Range panels) const;
  void multiply_gate_up(const Team& team, int index, const void* x) const;
  void rotate_and_store(Range items, int index) const;
  void attend(const Team& team, int index) const;
  void multiply_into_residual(Team& team, const BlockEnd& end, Timer& timer) const;
  static void activate(const RowBuffer& gate_up, const InputRows& activated, Range rows, Range panels,
                       InputForm form, Activation activation);

  const ModelConfig& config_;
  std::span<const LayerWeights> layers_;
  const PackedMatrix* embedding_;
  const KernelSet& kernels_;
  std::span<const RopeCache> ropes_;
  const BatchLayout& layout_;
  Workspace& ws_;
  const TokenBatch& batch_;
  const ForwardOptions& options_;
};

/// A row in the form in which a product takes it, after the norm where there is a `weight` [width] of one.
inline void prepare_row(const float* x, const float* weight, float eps, std::int64_t width, InputForm form,
                        void* out) {
  if (weight != nullptr) {
    rms_norm(x, weight, eps, width, form, out);
  } else {
    convert_row(x, width, form, out);
  }
}

/// How rows are made ready for a product.
struct RowPreparation {
  PreparedRows& into;
  InputForm form = InputForm::BF16;  ///< in which the product takes them
  std::int64_t width = 0;
  const float* weight = nullptr;  ///< of the norm [width]; null: none
  float eps = 0;
};

/// Prepares rows for a product: returns where this thread finds all of them, [rows, stride]. Few rows each
/// thread does for itself; many are shared, which takes a barrier. `row(r)` gives row r's float32 values.
template <class RowOf>
const void* prepare_rows(Team& team, const Workspace& ws, const RowPreparation& how, int rows, RowOf&& row) {
  const bool own = ws.prepares_own(rows);
  const InputRows& buffer = own ? how.into.own : how.into.shared;
  const std::int64_t base = own ? team.rank() * ws.own_rows : 0;
  const Range mine = own ? Range{0, rows} : team.split(rows);
  for (std::int64_t r = mine.begin; r < mine.end; ++r) {
    prepare_row(row(r), how.weight, how.eps, how.width, how.form, buffer.row(how.form, base + r));
  }
  if (!own) team.barrier();  // publishes how.into.shared
  return buffer.row(how.form, base);
}

}  // namespace augur
