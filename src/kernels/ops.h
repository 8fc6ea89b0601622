#pragma once
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace augur {

// Row operations of the transformer outside the products. All work on one row (or one head of one row), so a
// row's result cannot depend on its neighbours. Float32 arithmetic; `Act` outputs are float32 or bf16
// (rounded to nearest even) as the next product wants them. Highway picks the instruction set, limited to
// what AUGUR_ISA allows. Pointers need no alignment.

/// out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i], i < n. `out` is BF16 or F32 by `out_type`.
void rms_norm(const float* x, const float* weight, float eps, std::int64_t n, DType out_type, void* out);

/// out[i] = silu(gate[i]) * up[i], silu(v) = v / (1 + e^-v).
void silu_mul(const float* gate, const float* up, std::int64_t n, DType out_type, void* out);

/// Rounds or copies a float32 row to `out_type` (BF16 or F32).
void convert_row(const float* x, std::int64_t n, DType out_type, void* out);

/// Rotates the halves of one head in place (Hugging Face's rotate_half): for i < n/2,
/// (x[i], x[i+n/2]) -> (x[i] c[i] - x[i+n/2] s[i], x[i+n/2] c[i] + x[i] s[i]).
void rope_rotate(float* x, const float* cos, const float* sin, std::int64_t n);

/// y[i] += x[i].
void add_row(float* y, const float* x, std::int64_t n);

/// Index of the largest element; the lowest index among equals. n >= 1. NaN counts as -infinity.
std::int64_t argmax(const float* x, std::int64_t n);

/// log(sum(exp(x))) in a fixed order, stable for large x.
float log_sum_exp(const float* x, std::int64_t n);

/// The k largest of x in descending order, equals by ascending index; indices and values hold min(k, n).
/// `scratch` may be reused between calls; no allocation once it has grown.
struct TopKScratch;
void top_k(std::span<const float> x, int k, std::int32_t* indices, float* values);

}  // namespace augur
