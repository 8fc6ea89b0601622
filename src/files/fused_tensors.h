#pragma once
#include <nlohmann/json_fwd.hpp>

#include "files/weight_store.h"

namespace augur {

/// Lets the parts of matrices that some families store as one be found by names of their own, whatever the
/// file: Phi-3's qkv_proj and gate_up_proj, Granite 4's shared_mlp and block_sparse_moe, and experts, which
/// GGUF has side by side in three dimensions (mlp.experts.gate_proj becomes mlp.experts.0.gate_proj and so
/// on), and transformers, too, gate above up in one (mlp.experts.gate_up_proj). `config` has the sizes; a
/// matrix that they do not fit stays whole.
void split_fused_tensors(const nlohmann::json& config, WeightStore& store);

}  // namespace augur
