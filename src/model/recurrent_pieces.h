#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/families.h"
#include "model/weight_packer.h"

namespace augur {

/// LayerWeights::recurrent_decay of what Hugging Face stores as `A_log`.
float recurrent_decay(float logarithm);

/// The rows of a layer with a recurrence, in the order of the heads that the files have.
struct RecurrentPieces {
  std::vector<MatrixPiece> qkvz;   ///< LayerWeights::qkv: queries, keys, values, z
  std::vector<MatrixPiece> gates;  ///< LayerWeights::recurrent_gates: b and a, or dt
};

/// Where channel i of the convolution is among those of the files: at [i]; empty: in the same place.
std::vector<std::int64_t> stored_channels(const RecurrentSpec& spec);

/// `prefix`: of the layer's names. Of a delta rule `source`, where it knows, says whether the rows lie apart
/// (`in_proj_qkv`, `in_proj_z`, `in_proj_b`, `in_proj_a`), or by key head in two matrices (`in_proj_qkvz`,
/// `in_proj_ba`), else the family does. Mamba2 has one matrix: z, values, keys, queries, dt.
RecurrentPieces recurrent_pieces(const Family& family, const RecurrentSpec& recurrent,
                                 const std::string& prefix, const WeightSource& source);

}  // namespace augur
