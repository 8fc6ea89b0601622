#pragma once
#include <cstdint>
#include <vector>

#include "model/recurrent_spec.h"

namespace augur {

/// Rotary position embedding, with every rope_scaling type of the supported families.
struct RopeConfig {
  enum class Scaling {
    None,
    Linear,
    Dynamic,  ///< NTK-aware; the frequencies are fixed for the context the model is opened with
    Llama3,
    Yarn,
    Factors,  ///< a divisor for every frequency: LongRoPE, and what GGUF files may carry
  };
  bool none = false;  ///< nothing is rotated: positions enter by the order of attention only (NoPE)
  int dims = 0;       ///< leading dimensions of a head that are rotated, even; 0: all
  double theta = 10000.0;
  Scaling scaling = Scaling::None;
  double factor = 1.0;
  double low_freq_factor = 1.0;       ///< Llama3
  double high_freq_factor = 4.0;      ///< Llama3
  std::int64_t original_context = 0;  ///< Llama3, Yarn, Dynamic, and Factors where `long_factors` are given
  double attention_factor = 0.0;      ///< Yarn, Factors: multiplies cos and sin; 0: derived from factor
  double beta_fast = 32.0;            ///< Yarn
  double beta_slow = 1.0;             ///< Yarn
  bool truncate = true;               ///< Yarn: round the ends of the ramp to whole dimensions
  std::vector<double> factors;        ///< Factors: [rotated dimensions / 2]
  /// LongRoPE: in place of `factors` for contexts beyond the original one. As with Dynamic, the context that
  /// the model is opened with decides.
  std::vector<double> long_factors;

  /// Whether frequencies depend on the context that the model is opened with.
  bool follows_context() const { return !none && (scaling == Scaling::Dynamic || !long_factors.empty()); }

  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
};

/// Where a block (attention, feed-forward) has its RMSNorm: on what it reads, on what it adds, or both.
enum class NormPlace { Before, After, Both };

/// RMSNorm of queries and keys.
enum class QkNorm {
  None,
  PerHead,  ///< weights [head_dim], the same for all heads
  Whole,    ///< over all heads of a projection together
};

/// Queries that grow with their position (Llama 4's temperature tuning): after the rotation they are
/// multiplied by 1 + beta * ln(1 + floor(position / step)).
struct QueryGrowth {
  double beta = 0.0;  ///< 0: they do not grow
  std::int64_t step = 0;

  float at(std::int64_t position) const;
  friend bool operator==(const QueryGrowth&, const QueryGrowth&) = default;
};

/// Which blocks a layer has, each with its norms: what mixes tokens (attention, or what stands in its place),
/// and then a feed-forward.
enum class Blocks {
  Both,
  Mixer,        ///< Nemotron-H's layers are one block,
  FeedForward,  ///< or the other, which leaves nothing in a cache
};

/// What a gate goes through before it multiplies, or `up` itself where there is no gate.
enum class Activation {
  Silu,
  GeluTanh,       ///< GELU by its approximation with tanh
  ClampedSwiglu,  ///< gpt-oss: (up + 1) * gate * sigmoid(1.702 gate), both limited to 7
  SquaredRelu,    ///< Nemotron-H: relu(up)^2, without a gate
};
constexpr bool is_gated(Activation activation) {
  return activation != Activation::SquaredRelu;
}

/// A feed-forward of experts: a router scores them, and every row goes to the best.
struct ExpertSpec {
  int count = 0;   ///< 0: the layer is dense
  int active = 0;  ///< of a row
  int width = 0;   ///< of one expert's intermediate activations
  /// True: softmax over all scores, then the active ones' shares; false: softmax over the active ones only.
  bool softmax_of_all = true;
  /// The shares are each score's own sigmoid instead.
  bool sigmoid = false;
  bool normalise = true;  ///< with softmax_of_all or sigmoid: the shares are made to sum to 1
  bool chosen_by_bias =
      false;           ///< with sigmoid: chosen are the largest shares plus a number of each expert's
  float scale = 1.0f;  ///< with sigmoid: of all shares
  /// With sigmoid and normalise: added to the sum that shares are divided by.
  float sum_offset = 1e-6f;
  bool bias = false;  ///< of the router and of the experts' products
  /// > 0: width of what experts read and give. A product makes it of the rows before them, another makes the
  /// rows of their sum (Nemotron 3 Super).
  int latent = 0;
  /// > 0: width of one more expert that every row goes to.
  int shared = 0;
  bool shared_gate = true;  ///< what that gives is scaled by the sigmoid of the row's product with a gate

  friend bool operator==(const ExpertSpec&, const ExpertSpec&) = default;
};

/// A short convolution, which a layer may have in attention's place (LFM2). Of what the block reads its first
/// product gives rows b, c and x of [hidden]; the block adds out(c * conv(b * x)), where conv sums over the
/// last few tokens, by channel. Their b * x is all that a text leaves in the layer.
struct ShortConvSpec {
  int taps = 0;       ///< tokens that are summed over, a row's own included; 0: the layer has attention
  bool bias = false;  ///< of both products and of the sum

  friend bool operator==(const ShortConvSpec&, const ShortConvSpec&) = default;
};

/// What one decoder layer computes: all that the forward passes (the engine's, and the trainers') know about
/// a family. Shapes that all layers share are in ModelConfig. The defaults are Llama's layer.
struct LayerSpec {
  Blocks blocks = Blocks::Both;
  NormPlace norms = NormPlace::Before;

  // Attention
  QkNorm qk_norm = QkNorm::None;
  bool norms_rotated = false;  ///< with QkNorm::PerHead: queries and keys are normed after the rotation
  bool qkv_bias = false;
  bool o_bias = false;
  RopeConfig rope;
  QueryGrowth query_growth;
  std::int64_t window = 0;   ///< a token sees the last so many, itself included; 0: all
  float score_scale = 0.0f;  ///< of products of queries and keys; 0: 1 / sqrt(head_dim)
  float score_cap = 0.0f;    ///< > 0: cap * tanh(score / cap)
  bool sinks = false;        ///< a learned score per head that takes a share and adds nothing
  bool gated = false;        ///< what a head gives is multiplied by the sigmoid of a gate [head_dim]

  // In place of attention
  ShortConvSpec conv;
  RecurrentSpec recurrent;

  // Feed-forward
  Activation activation = Activation::Silu;
  bool mlp_bias = false;
  ExpertSpec experts;

  float residual_scale = 1.0f;  ///< of what both blocks add to the residual stream

  bool mixes() const { return blocks != Blocks::FeedForward; }
  bool feeds_forward() const { return blocks != Blocks::Mixer; }
  bool attends() const { return mixes() && conv.taps == 0 && !recurs(); }
  bool recurs() const { return recurrent.key_heads > 0; }
  /// The last so many tokens are all whose slots a token sees, itself included; 0: it sees all.
  std::int64_t sight() const { return attends() ? window : conv.taps; }

  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

/// Inverse frequencies [rotated dimensions / 2] after scaling, for contexts up to `context` (only Dynamic and
/// LongRoPE depend on it), and the factor by which cos and sin are multiplied (Yarn, LongRoPE).
struct RopeTable {
  std::vector<float> inverse_frequencies;
  float magnitude = 1.0f;
};
RopeTable make_rope_table(const RopeConfig& rope, int head_dim, std::int64_t context);

}  // namespace augur
