#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/fused_top.h"
#include "vocab/vocabulary_choice.h"

namespace augur {

/// Where a drafter ends: rows of hidden state -> logits over its vocabulary, or over a shortlist of it. The
/// logits of a shortlist are the whole head's, bit for bit; verification knows nothing of it. The one place
/// where the ids of a drafter's own vocabulary exist: outside, tokens are the target's.
/// Shared by all sequences of a drafter: one thread at a time.
class VocabularyHead {
 public:
  /// None yet.
  VocabularyHead() = default;
  /// `choice` null: the whole vocabulary. Rows of a shortlist are packed here: once, a copy.
  explicit VocabularyHead(const HeadWeights& weights, const VocabularyChoice* choice = nullptr);

  bool empty() const { return weights_.matrix == nullptr; }
  /// Tokens that a row may be given at most.
  std::int64_t size() const { return shortlist_ ? packed_.n() : weights_.usable; }
  const HeadWeights& weights() const { return weights_; }

  /// `best` > 0: only so many of each row's largest logits are kept, and there is no buffer of all of them.
  void run(std::span<const HeadRow> rows, int best = 0);
  /// Logits that a row of the last run had.
  std::int64_t count(std::size_t row) const { return selection_.by_row[row]; }
  /// Of a row of the last run, which kept no more than these; entries are those of logits().
  const RowTop& best(std::size_t row) const { return fused_.row(row); }
  /// Of a row of the last run, which kept all.
  std::span<const float> logits(std::size_t row) const {
    return {logits_.data() + row * static_cast<std::size_t>(stride_),
            static_cast<std::size_t>(selection_.by_row[row])};
  }
  /// Of the last run: what all rows together were given, neighbours in shared panels included.
  std::int64_t columns() const { return selection_.columns; }
  /// The target's token of each column of the last run; empty: column and token are the same.
  std::span<const TokenId> target_ids() const;

  /// Tokens that became text: what an online list learns from.
  void saw(std::span<const TokenId> tokens);
  /// The list is again what it was before saw().
  void forget();

 private:
  void repack(std::span<const Shortlist::Swap> swaps);
  RowProduct product() const;

  HeadWeights weights_;
  HeadObserver observer_;
  bool observer_reads_logits_ = false;
  std::unique_ptr<Shortlist> shortlist_;  ///< null: whole
  PackedMatrix packed_;                   ///< [shortlist's order, k]
  std::vector<float> packed_bias_;        ///< padded; empty: none
  std::vector<TokenId> packed_ids_;       ///< the target's, in the order of packing

  Selection selection_;
  std::unique_ptr<DeviceProduct> product_;
  std::vector<const float*> states_;  ///< of a run's rows
  std::vector<TokenId> column_ids_;   ///< of the selection, where it is not a prefix
  FusedTop fused_;
  Buffer<float> logits_;  ///< [rows, stride]
  std::int64_t stride_ = 0;
};

}  // namespace augur
