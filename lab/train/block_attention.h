#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "lab/train/lesson.h"

namespace augur {

/// Blocks of slots that stand in the texts of a pack, each behind the rows before its anchor. R is the number
/// of all slots, block after block; T that of the pack's rows.
class BlockSight {
 public:
  /// `anchors`: rows of the lesson, ascending, none the first of its sequence.
  BlockSight(const Lesson& lesson, const std::vector<std::int64_t>& anchors, std::int64_t slots,
             torch::Device device);

  std::int64_t slots() const { return slots_; }  ///< of a block
  /// Rotary positions of the slots: the anchor's, the next one, ... [R] int64
  const torch::Tensor& positions() const { return positions_; }

  /// Blocks of sequences of about one length, as matrices with a row for each sequence.
  struct Bucket {
    torch::Tensor text;   ///< [sequences, L] int64: rows of the pack; behind a sequence's end: its last
    torch::Tensor slots;  ///< [sequences, S] int64: rows of the slots; behind a sequence's last: repeated
    torch::Tensor mask;   ///< [sequences, S, L] float32, additive: 0 before a slot's anchor, else -infinity
  };
  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// Where each slot lies in the buckets' places one after another. [R] int64
  const torch::Tensor& places() const { return places_; }

 private:
  std::int64_t slots_;
  torch::Tensor positions_, places_;
  std::vector<Bucket> buckets_;
};

/// Every slot sees the text before its block's anchor, and its block in both directions. q [R, heads, d],
/// own_k and own_v [R, kv heads, d] of the slots, text_k and text_v [T, kv heads, d]. [R, heads, d] in
/// product_type()
torch::Tensor block_attention(const torch::Tensor& q, const torch::Tensor& text_k,
                              const torch::Tensor& text_v, const torch::Tensor& own_k,
                              const torch::Tensor& own_v, const BlockSight& sight, double scale);

}  // namespace augur
