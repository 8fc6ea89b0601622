#pragma once
#include <string>
#include <vector>

#include "model/families.h"
#include "model/weight_packer.h"

namespace augur {

/// LayerWeights::recurrent_decay of what Hugging Face stores as `A_log`.
float recurrent_decay(float logarithm);

/// The rows of a layer with a gated delta rule, in the order of the heads that the files have.
struct RecurrentPieces {
  std::vector<MatrixPiece> qkvz;  ///< LayerWeights::qkv: queries, keys, values, z
  MatrixPiece b, a;               ///< LayerWeights::recurrent_gates
};

/// `prefix`: of the layer's names. Where `source` knows, it says whether the rows lie apart (`in_proj_qkv`,
/// `in_proj_z`, `in_proj_b`, `in_proj_a`), or by key head in two matrices (`in_proj_qkvz`, `in_proj_ba`),
/// else the family does.
RecurrentPieces recurrent_pieces(const Family& family, const RecurrentSpec& recurrent,
                                 const std::string& prefix, const WeightSource& source);

}  // namespace augur
