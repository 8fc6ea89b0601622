#pragma once
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "kernels/backend.h"
#include "kernels/ops.h"
#include "model/batch_plan.h"
#include "model/model.h"
#include "model/rope_cache.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace augur {

/// One thread's walk through the layers. All threads of a team run the same steps, each on its part of the
/// columns, heads or rows, with a barrier wherever a step reads what others wrote:
///
///   norm, q k v product | rotation, cache | attention | output product | norm, gate and up product,
///   activation | down product |
///
/// The partition never enters a result: products are cut by output columns, everything else by rows and
/// heads.
class ForwardPass {
 public:
  ForwardPass(const ModelConfig& config, const ModelWeights& weights, const KernelSet& kernels,
              const RopeCache& rope, const BatchPlan& plan, Workspace& workspace, const TokenBatch& batch,
              const ForwardOptions& options)
      : config_(config),
        weights_(weights),
        kernels_(kernels),
        rope_(rope),
        plan_(plan),
        ws_(workspace),
        batch_(batch),
        options_(options) {}

  /// Runs on every thread of one region. The result is in the workspace's `residual`.
  void run(Team& team) const;

 private:
  class Timer;

  int last_layer() const { return options_.last_layer < 0 ? config_.layers : options_.last_layer; }
  void load_rows(Range rows) const;
  void copy_taps(Range rows, int layer) const;
  void attention_block(Team& team, int index, Timer& timer) const;
  void mlp_block(Team& team, int index, Timer& timer) const;
  void rotate_and_store(Range items, int index) const;
  void attend(const Team& team, int index) const;
  void activate(Range panels) const;

  const ModelConfig& config_;
  const ModelWeights& weights_;
  const KernelSet& kernels_;
  const RopeCache& rope_;
  const BatchPlan& plan_;
  Workspace& ws_;
  const TokenBatch& batch_;
  const ForwardOptions& options_;
};

/// Normalises rows for a product: returns where this thread finds all of them, [rows, stride]. Few rows each
/// thread does for itself; many are shared, which takes a barrier. `row(r)` gives row r's float32 values.
template <class RowOf>
const void* normalise_rows(Team& team, Workspace& ws, int rows, const float* weight, float eps,
                           std::int64_t width, RowOf&& row) {
  const bool own = ws.own_norms(rows);
  const RowBuffer& buffer = own ? ws.own_normed : ws.normed;
  const std::int64_t base = own ? team.rank() * ws.own_rows : 0;
  const Range mine = own ? Range{0, rows} : team.split(rows);
  for (std::int64_t r = mine.begin; r < mine.end; ++r) {
    if (weight != nullptr) {
      rms_norm(row(r), weight, eps, width, ws.type, buffer.row(base + r));
    } else {
      convert_row(row(r), width, ws.type, buffer.row(base + r));
    }
  }
  if (!own) team.barrier();
  return buffer.row(base);
}

}  // namespace augur
