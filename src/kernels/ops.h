#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "kernels/input_form.h"

namespace augur {

// Row operations of the transformer outside the products. All work on one row (or one head of one row), so a
// row's result cannot depend on its neighbours. Float32 arithmetic; outputs in `form` are as the next product
// wants them: bf16 is rounded to nearest even, a last block that n does not fill gets zeros, and only
// rms_norm() and convert_row() give Blocks16. Pointers need no alignment. Float32 outputs may be the same
// array as an input; outputs do not overlap inputs otherwise.
//
// Law: docs/law.md#row-operations. Results have the same bits in every instruction set; nothing is fused,
// because the portable variant could not follow at any speed.

/// Highway picks the widest instruction set of this processor; this limits it to what a variant allows. The
/// setting is process-wide (Highway's own) and changes speed only, see the law. kernel_set() calls it.
void limit_ops_to(Isa isa);

/// out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i], i < n.
void rms_norm(const float* x, const float* weight, float eps, std::int64_t n, InputForm form, void* out);

/// out[i] = silu(gate[i]) * up[i], silu(v) = v / (1 + e^-v).
void silu_mul(const float* gate, const float* up, std::int64_t n, InputForm form, void* out);

/// The same for `pairs` pairs of 16 gate values and 16 up values, side by side as a gate_up product leaves
/// them: out[16 * pairs].
void silu_mul_panels(const float* gate_up, std::int64_t pairs, InputForm form, void* out);

/// silu_mul_panels() with gelu in place of silu: GELU's approximation with tanh, v / (1 + e^-2u) of
/// u = sqrt(2 / pi) (v + 0.044715 v^3).
void gelu_mul_panels(const float* gate_up, std::int64_t pairs, InputForm form, void* out);

/// silu_mul_panels() with gpt-oss's function: (up + 1) * gate / (1 + e^(-1.702 gate)), gate at most 7 and up
/// from -7 to 7.
void clamped_swiglu_panels(const float* gate_up, std::int64_t pairs, InputForm form, void* out);

/// out[i] = x[i]^2 where x[i] is positive, else 0: the square of ReLU, which has no gate.
void squared_relu(const float* x, std::int64_t n, InputForm form, void* out);

/// Rounds, quantises or copies a float32 row to `form`.
void convert_row(const float* x, std::int64_t n, InputForm form, void* out);

/// Rotates the halves of one head in place (Hugging Face's rotate_half): for i < n/2,
/// (x[i], x[i+n/2]) -> (x[i] c[i] - x[i+n/2] s[i], x[i+n/2] c[i] + x[i] s[i]).
void rope_rotate(float* x, const float* cos, const float* sin, std::int64_t n);

/// out[i] = x[i] / (1 + e^-gate[i]), F32 or BF16.
void sigmoid_mul(const float* gate, const float* x, std::int64_t n, InputForm form, void* out);

/// out[i] = 1 / (1 + e^-x[i]).
void sigmoid_row(const float* x, std::int64_t n, float* out);
/// out[i] = log(1 + e^(x[i] + bias[i])).
void softplus_row(const float* x, const float* bias, std::int64_t n, float* out);
/// out[i] = e^(x[i] * rates[i]), which is 0 below e^-87.
void decay_row(const float* x, const float* rates, std::int64_t n, float* out);

/// out[i] = a[i] * b[i].
void mul_row(const float* a, const float* b, std::int64_t n, float* out);
/// A short convolution by channel: out[i] = (sum over t of weights[t * stride + i] * rows[t][i] + bias[i]) *
/// gate[i]. Rows that are null are left out; so is the bias. Without a gate: the silu() of the sum.
void convolve_row(std::span<const float* const> rows, const float* weights, std::int64_t stride,
                  const float* bias, const float* gate, std::int64_t n, InputForm form, void* out);

/// y[i] += x[i].
void add_row(float* y, const float* x, std::int64_t n);
/// y[i] += scale * x[i].
void add_scaled_row(float* y, const float* x, float scale, std::int64_t n);
/// y[i] *= scale.
void scale_row(float* y, float scale, std::int64_t n);
/// y[i] = cap * tanh(y[i] / cap), cap > 0.
void cap_row(float* y, float cap, std::int64_t n);

/// Index of the largest element; the lowest index among equals. n >= 1. NaN counts as -infinity.
std::int64_t argmax(const float* x, std::int64_t n);

/// Index of the first element that no logit may be, NaN or +infinity; -1 when there is none.
std::int64_t first_invalid_logit(const float* x, std::int64_t n);

/// out[i] = exp((x[i] - shift) * scale); e^v is 0 below v = -87 and at most e^88.
void exp_row(const float* x, std::int64_t n, float shift, float scale, float* out);

/// sum of exp((x[i] - shift) * scale).
float sum_exp(const float* x, std::int64_t n, float shift, float scale);

/// log(sum(exp(x))), stable for large x; -infinity when every x is.
float log_sum_exp(const float* x, std::int64_t n);

/// out = softmax(x * scale), scale > 0. At least one x is finite, none is NaN or +infinity.
void softmax(const float* x, std::int64_t n, float scale, float* out);

/// Memory that selections reuse: no allocation once it has grown. One thread at a time.
struct TopKScratch {
  struct Entry {
    float value;
    std::int32_t index;
  };
  std::vector<float> maxima;
  std::vector<Entry> entries;

  /// Later calls for up to k allocate nothing.
  void reserve(std::int64_t k);
};

/// The k largest of x in descending order, equals by ascending index; NaN counts as -infinity. `indices` and
/// `values` hold min(k, n). Two passes over x at memory speed where k is small against n.
void top_k(std::span<const float> x, int k, TopKScratch& scratch, std::int32_t* indices, float* values);
/// The same without caller's scratch; allocates only for k > 128.
void top_k(std::span<const float> x, int k, std::int32_t* indices, float* values);

/// Indices of all x[i] >= threshold, ascending, appended to `out`.
void collect_at_least(std::span<const float> x, float threshold, std::vector<std::int32_t>& out);

/// Entropy in nats of the distribution over the k largest logits, renormalised over them (equal logits count
/// by ascending index). 1 <= k; k >= n takes all.
float top_entropy(std::span<const float> logits, int k, TopKScratch& scratch);

}  // namespace augur
