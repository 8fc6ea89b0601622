#pragma once
#include "kernels/cpu/gemm_task.h"

namespace augur {

/// The product of rows in 16 bits (FineRow of quant_rows.h) by the quantised product of a variant: each row
/// is two rows of QuantBlocks to it. `task` counts the rows as the caller does, x_stride is that of whole
/// rows. Law: docs/law.md#products.
void gemm_fine(GemmQuantFn gemm, QuantKind kind, const GemmTask& task);

}  // namespace augur
