#pragma once
#include <cstdint>

#include "base/thread_pool.h"
#include "model/batch_layout.h"
#include "model/recurrent_memory.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace augur {

/// What a layer with a recurrence does in a forward pass between its products. Two phases, with a barrier
/// between them, and a third where norms() says so; the first two are shared out by heads, which do not meet.
/// S is read from memory and written to it once at most, whatever the tree: a tile of it stays in a cache
/// while all rows of a sequence go through it.
class RecurrentPass {
 public:
  struct Inputs {
    const RecurrentSpec& spec;
    const LayerWeights& weights;
    const BatchLayout& layout;
    Workspace& workspace;
    int layer;
    float norm_eps;
  };
  explicit RecurrentPass(const Inputs& in) : in_(in), memory_(in.spec) {}

  /// Bytes of scratch that recur() takes for such a pass, of every thread.
  static std::size_t scratch_bytes(const RecurrentSpec& spec, int aside);

  /// Queries, keys and values: workspace's `qkv` to `recurrent_rows`. Writes what records and the state's
  /// tail keep of them.
  void convolve(const Team& team) const;
  /// What the heads give, gated, and normed by head: `recurrent_rows`, `recurrent_gates` and `qkv` to
  /// `attention_results`, of rows in `form`. Where norms(), gated only, in the values' place of
  /// `recurrent_rows`. Writes records and states.
  void recur(const Team& team, InputForm form) const;
  /// Whether norms go over several heads: norm() is to follow.
  bool norms() const { return in_.spec.mamba(); }
  /// `recurrent_rows` to `attention_results`, of rows in `form`. Shared out by rows and key heads.
  void norm(const Team& team, InputForm form) const;

 private:
  struct Head;
  void convolve_head(int head, const BatchLayout::Sequence& sequence) const;
  void prepare_gates(const Range& heads) const;
  void finish_head(int value_head, InputForm form) const;
  void run_tile(const Head& head, const BatchLayout::Sequence& sequence, std::int64_t column) const;

  const Inputs in_;
  const RecurrentMemory memory_;
};

}  // namespace augur
