#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "files/weight_store.h"
#include "kernels/backend.h"
#include "model/linear.h"
#include "model/workspace.h"

namespace augur {

/// Residual blocks on rows, as Medusa and Hydra have them for every head and early exits as adapters:
///   x = R u + silu(E u + e)   with an entry (Hydra), else x = u
///   x = x + silu(W x + b)     for every block
/// Weights and buffers are shared: one thread at a time. Stays where it is once opened.
class ResidualMlp {
 public:
  struct Names {
    std::string entry;           ///< E; empty: none
    std::string entry_residual;  ///< R
    std::vector<std::string> blocks;
    bool block_bias = true;
  };
  /// Asks for the tensors. Consecutive blocks that share their storage (published code repeats one block) are
  /// one block here, applied again. `inputs`: of u; without an entry `hidden`.
  void open(WeightPacker& packer, const WeightStore& store, const Names& names, std::int64_t inputs,
            std::int64_t hidden);

  /// inputs [rows, the width of u]
  void run(Backend& backend, const float* inputs, int rows);
  /// x after the blocks, of a row of the last run. [hidden]
  const float* state(int row) const { return state_.floats(row); }

 private:
  void add_activated(Range rows);

  std::int64_t inputs_ = 0;
  std::int64_t hidden_ = 0;
  bool has_entry_ = false;
  Linear entry_;
  Linear entry_residual_;
  std::vector<Linear> blocks_;
  std::vector<std::size_t> order_;  ///< which of blocks_, one after the other
  RowBuffer state_;                 ///< [rows, hidden]
  RowBuffer update_;                ///< [rows, hidden] before the activation
  std::vector<float> ones_;
};

}  // namespace augur
