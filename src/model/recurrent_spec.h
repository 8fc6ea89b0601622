#pragma once
#include <cstdint>

namespace augur {

/// A gated delta rule, which a layer may have in attention's place (Qwen3-Next, Qwen3.5). Of what the block
/// reads its first product gives queries, keys and values, which go through a short convolution by channel
/// and SiLU; a gate z of [value_heads, value_dim]; and two numbers per value head, b and a. Each value head
/// has a state S of [key_dim, value_dim] that starts at zero. With q and k of its key head made unit vectors
/// (q divided by sqrt(key_dim) besides), beta = sigmoid(b) and
/// alpha = exp(-exp(A_log) softplus(a + dt_bias)), a token makes of it
///
///     S = alpha S,   d = beta (v - S^T k),   S = S + k d^T,   o = S^T q
///
/// and the block adds out(rms_norm(o) silu(z)), the norm by head (Yang et al., "Gated Delta Networks", 2024,
/// eq. 10; Qwen3-Next's layer).
struct RecurrentSpec {
  int key_heads = 0;  ///< 0: the layer has something else
  int value_heads = 0;
  int key_dim = 0, value_dim = 0;
  int taps = 0;  ///< tokens that the convolution sums over, a row's own included
  /// Value head h reads key head h % key_heads, as GGUF files of Qwen3.5 order them; else
  /// h / (value_heads / key_heads).
  bool interleaved = false;

  std::int64_t keys() const { return std::int64_t{key_heads} * key_dim; }
  std::int64_t values() const { return std::int64_t{value_heads} * value_dim; }
  /// Of the convolution: queries, keys, values.
  std::int64_t channels() const { return 2 * keys() + values(); }
  int key_head(int value_head) const {
    return interleaved ? value_head % key_heads : value_head / (value_heads / key_heads);
  }

  friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;
};

}  // namespace augur
