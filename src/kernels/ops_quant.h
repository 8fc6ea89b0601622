#pragma once
// The quantising forms of row operations: ops.cpp calls them for Blocks8. `out`: QuantBlock[].
#include <cstdint>

#include "kernels/quant_rows.h"

namespace augur {

void quantize_row(const float* x, std::int64_t n, QuantBlock* out);
/// `rest`: the second half of a fine row.
void quantize_row_fine(const float* x, std::int64_t n, QuantBlock* out, QuantBlock* rest);
void rms_norm_quantized(const float* x, const float* weight, float eps, std::int64_t n, QuantBlock* out,
                        QuantBlock* rest = nullptr);
void silu_mul_quantized(const float* gate, const float* up, std::int64_t n, QuantBlock* out);
/// See silu_mul_panels().
void silu_mul_panels_quantized(const float* gate_up, std::int64_t pairs, QuantBlock* out);
void gelu_mul_panels_quantized(const float* gate_up, std::int64_t pairs, QuantBlock* out);
void clamped_swiglu_panels_quantized(const float* gate_up, std::int64_t pairs, QuantBlock* out);
void squared_relu_quantized(const float* x, std::int64_t n, QuantBlock* out);

}  // namespace augur
