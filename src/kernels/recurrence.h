#pragma once
#include <cstdint>

namespace augur {

// A token on some columns of a head's state S [keys, columns], in place (RecurrentSpec has the formulas).
// Columns do not meet, and every sum over keys goes by their order, so that neither the vectors' width nor
// how the columns are cut is in a result.
//
// Law: docs/law.md#row-operations. Float32, nothing is fused.

/// By the gated delta rule: S = alpha S, d = beta (v - S^T k), S = S + k d^T, out = S^T q. k, q: [keys]; v,
/// d, out: [columns], of which `out` may be `v`.
void delta_token(float* state, std::int64_t keys, std::int64_t columns, const float* q, const float* k,
                 const float* v, float alpha, float beta, float* d, float* out);

/// By Mamba2: d = step v, S = alpha S + k d^T, out = S^T q + skip v. Shapes as above.
void mamba_token(float* state, std::int64_t keys, std::int64_t columns, const float* q, const float* k,
                 const float* v, float alpha, float step, float skip, float* d, float* out);

/// What a token has left in S by either, once more, with the same bits: S = alpha S + k d^T.
void replay_state(float* state, std::int64_t keys, std::int64_t columns, const float* k, const float* d,
                  float alpha);

/// out[i] = x[i] * (scale / sqrt(sum of x^2 + eps)), i < n. `out` may be `x`.
void unit_row(const float* x, std::int64_t n, float eps, float scale, float* out);

}  // namespace augur
