#pragma once
#include "files/weight_store.h"

namespace augur {

/// Lets the experts of a gpt-oss folder be found one by one under the names that other families' have
/// (mlp.experts.0.gate_proj.weight and so on). Two forms are published: MXFP4 as values and scales apart
/// (`gate_up_proj_blocks` [experts, rows, columns / 32, 16], `gate_up_proj_scales` [experts, rows,
/// columns / 32], and `down_proj` likewise), and floats, transposed (`gate_up_proj` [experts, columns,
/// rows]). Gate's and up's rows take turns in both. Nothing is copied: rows are put together when they are
/// read. Error for shapes or types that are none of this.
void split_gpt_oss_experts(WeightStore& store);

}  // namespace augur
