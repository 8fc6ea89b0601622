#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "io/weight_store.h"
#include "kernels/backend.h"
#include "model/linear.h"
#include "model/workspace.h"
#include "vocab/head_row.h"

namespace augur {

/// A prediction head without attention, as Medusa and Hydra have one per depth:
///   x = R u + silu(E u + e)   with an entry (Hydra), else x = u
///   x = x + silu(W x + b)     for every block
///   logits = V x (+ v)        by a VocabularyHead: exit() and states; or by the target's own head
/// Weights and buffers are shared: one thread team at a time. Stays where it is once opened.
class MlpHead {
 public:
  struct Names {
    std::string entry;           ///< E; empty: none
    std::string entry_residual;  ///< R
    std::vector<std::string> blocks;
    bool block_bias = true;
    std::string output;  ///< with a bias where one is stored; empty: none
  };
  struct Widths {
    std::int64_t inputs = 0;
    std::int64_t hidden = 0;
    std::int64_t vocab = 0;
  };
  /// Asks for the tensors. Consecutive blocks that share their storage (published code repeats one block) are
  /// one block here, applied again.
  void open(WeightPacker& packer, const WeightStore& store, const Names& names, const Widths& widths);

  std::int64_t inputs() const { return widths_.inputs; }
  std::int64_t vocab() const { return widths_.vocab; }

  /// V and v, once packed; not of a head without an output. `embedding`: for routers that read it; may be
  /// null.
  HeadWeights exit(Backend& backend, const PackedMatrix* embedding) const;
  /// inputs [rows, inputs()]
  void run(Backend& backend, const float* inputs, int rows);
  /// After the blocks, of a row of the last run. [hidden]
  const float* state(int row) const { return state_.floats(row); }

 private:
  void add_activated(Range rows);

  Widths widths_;
  bool has_entry_ = false;
  Linear entry_;
  Linear entry_residual_;
  std::vector<Linear> blocks_;
  std::vector<std::size_t> order_;  ///< which of blocks_, one after the other
  Linear output_;
  RowBuffer state_;          ///< [rows, hidden]
  RowBuffer update_;         ///< [rows, hidden] before the activation
  std::vector<float> ones_;  ///< [hidden]
};

}  // namespace augur
