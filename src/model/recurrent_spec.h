#pragma once
#include <cstdint>
#include <limits>

namespace augur {

/// What a token makes of a state, see RecurrentSpec.
enum class RecurrentRule { GatedDelta, Mamba2 };

/// A recurrence, which a layer may have in attention's place. Of what the block reads its first product gives
/// queries q, keys k and values v, which go through a short convolution by channel and SiLU, and a gate z of
/// [value_heads, value_dim]; another one or two numbers per value head. Each value head has a state S of
/// [key_dim, value_dim] that starts at zero; a token makes of it
///
///     S = alpha S,   S = S + k d^T,   o = S^T q
///
/// with q and k of its key head. What d and alpha are, and what becomes of o, is the rule's:
///
/// GatedDelta (Qwen3-Next, Qwen3.5): q and k are made unit vectors, q divided by sqrt(key_dim) besides. Of
/// two numbers b and a, with beta = sigmoid(b) and alpha = exp(-exp(A_log) softplus(a + dt_bias)), d = beta
/// (v - S^T k), S as alpha has left it. The block adds out(rms_norm(o) silu(z)), the norm by head (Yang et
/// al., "Gated Delta Networks", 2024, eq. 10; Qwen3-Next's layer).
///
/// Mamba2 (Granite 4, Nemotron-H; there B is k, C is q, x is v, and key heads are groups): of one number
/// with step = softplus(dt + dt_bias), at least step_min and at most step_max, alpha = exp(-exp(A_log) step)
/// and d = step v. The block adds out(rms_norm((o + D v) silu(z))), D a number per value head, the norm over
/// all value heads of a key head together (Dao and Gu, "Transformers are SSMs", 2024, sections 5 and 7).
struct RecurrentSpec {
  RecurrentRule rule = RecurrentRule::GatedDelta;
  int key_heads = 0;  ///< 0: the layer has something else
  int value_heads = 0;
  int key_dim = 0, value_dim = 0;
  int taps = 0;  ///< tokens that the convolution sums over, a row's own included
  /// Value head h reads key head h % key_heads, as GGUF files of Qwen3.5 order them; else
  /// h / (value_heads / key_heads).
  bool interleaved = false;
  // Of Mamba2:
  bool conv_bias = false;  ///< of the convolution
  float step_min = 0.0f;
  float step_max = std::numeric_limits<float>::infinity();

  bool mamba() const { return rule == RecurrentRule::Mamba2; }
  std::int64_t keys() const { return std::int64_t{key_heads} * key_dim; }
  std::int64_t values() const { return std::int64_t{value_heads} * value_dim; }
  /// Numbers that a norm of what the heads give goes over, and has weights for.
  std::int64_t norm_width() const { return mamba() ? values() / key_heads : value_dim; }
  std::int64_t norm_weights() const { return mamba() ? values() : value_dim; }
  /// Of the convolution: queries, keys, values.
  std::int64_t channels() const { return 2 * keys() + values(); }
  int key_head(int value_head) const {
    return interleaved ? value_head % key_heads : value_head / (value_heads / key_heads);
  }

  friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;
};

}  // namespace augur
