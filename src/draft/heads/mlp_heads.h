#pragma once
#include <span>
#include <string>

#include "draft/heads_drafter.h"
#include "files/weight_store.h"
#include "model/residual_mlp.h"
#include "model/weights.h"

namespace augur {

/// What a file calls the tensors of one head of HeadsWeights.
struct MlpHeadNames {
  ResidualMlp::Names body;
  std::string output;  ///< with a bias where one is stored; empty: the target's
};

/// Asks for the tensors of the heads, by depth, with the widths that `weights` says. `source` is made of
/// `store`.
void open_heads(HeadsWeights& weights, std::span<const MlpHeadNames> names, const WeightStore& store,
                StoredWeights& source, WeightPacker& packer);

}  // namespace augur
