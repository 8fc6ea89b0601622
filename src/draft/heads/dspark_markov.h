#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "draft/formats/dflash_config.h"
#include "model/linear.h"

namespace augur {

/// What DSpark adds to a block drafter: a bias on a slot's logits, by the token before it, so that the tokens
/// of one block know of one another. With e = W1[token] and the slot's state h the bias is W2 l, where l is
///   - vanilla: e;
///   - gated:   sigmoid(gate_proj [h; e]) * e;
///   - rnn:     tanh(o) with (g, c, o) = joint_proj [s; e; h]; s, zero at first, runs along the path from the
///              root: s' = sigmoid(g) s + (1 - sigmoid(g)) tanh(c).
/// The confidence is the predicted chance that the token drawn there will be accepted: sigmoid(proj [h; e])
/// or sigmoid(proj h). One thread at a time.
class MarkovHead {
 public:
  /// Asks `loader` for the tensors, which come with its finish(). `vocab`: entries of the draft vocabulary,
  /// with the target's `ids` (empty: the same).
  MarkovHead(HeadLoader& loader, const DflashKeys& keys, std::int64_t vocab, std::span<const TokenId> ids);

  std::int64_t rank() const { return rank_; }  ///< width of latents and path states
  bool has_path_states() const { return kind_ == Kind::Rnn; }
  bool has_confidence() const { return !confidence_.empty(); }

  /// A token and the slot that predicts the one after it.
  struct Row {
    TokenId token = 0;
    const float* state = nullptr;        ///< h [hidden]
    const float* path_before = nullptr;  ///< s [rank]; null: zeros
    float* path_after = nullptr;         ///< s' [rank], where there are path states
    float* latent = nullptr;             ///< l [rank]
    float* confidence = nullptr;         ///< where there is one
  };
  void latents(Backend& backend, std::span<const Row> rows);

  struct Biased {
    const float* latent = nullptr;
    const float* logits = nullptr;  ///< [vocab] without the bias
  };
  /// logits(i) = rows[i].logits + bias.
  void add_bias(Backend& backend, std::span<const Biased> rows);
  /// Of the last add_bias(). [vocab]
  std::span<const float> logits(std::size_t row) const {
    return {bias_.out(static_cast<std::int64_t>(row)), static_cast<std::size_t>(bias_.outputs())};
  }

 private:
  enum class Kind { Vanilla, Gated, Rnn };
  void embed(TokenId token, float* out) const;
  void load_mixer_input(const Row& row, const float* embedding, float* out) const;
  void finish(const Row& row, const float* embedding, const float* mixed) const;

  Kind kind_ = Kind::Vanilla;
  std::int64_t hidden_ = 0;
  std::int64_t rank_ = 0;
  PackedMatrix embedding_;  ///< W1 [target vocabulary, rank], or a row for each of entry_of_
  /// Where W1 has rows for the draft vocabulary only: by token of the target its row; -1: zeros.
  std::vector<std::int32_t> entry_of_;
  Linear bias_;                    ///< W2 [draft vocabulary, rank]
  Linear mixer_;                   ///< gate_proj or joint_proj
  std::vector<float> confidence_;  ///< proj [hidden, or hidden + rank]; empty: none
  float confidence_bias_ = 0.0f;

  RowBuffer embedded_;      ///< [rows, rank]
  RowBuffer mixer_inputs_;  ///< [rows, inputs]
};

}  // namespace augur
