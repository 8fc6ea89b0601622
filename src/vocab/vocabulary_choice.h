#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/fingerprint.h"
#include "vocab/automatic_shortlist.h"
#include "vocab/cluster_router.h"
#include "vocab/shortlist.h"
#include "vocab/token_order.h"
#include "vocab/vocabulary_spec.h"

namespace augur {

class VocabularyHead;

/// Sees the rows of every run of a drafter's head, after it: for training routers and for measuring.
using HeadObserver = std::function<void(const HeadWeights& weights, std::span<const HeadRow> rows,
                                        const VocabularyHead& head)>;

/// The files that a VocabularySpec names, read and checked. Outlives the heads made with it.
class VocabularyChoice {
 public:
  /// Every token; with an observer.
  explicit VocabularyChoice(HeadObserver observer = {}) : observer_(std::move(observer)) {}
  /// `always`: tokens that a list of frequent tokens must have (those that end a text). `target_bytes`: what
  /// a forward of the target reads, for `auto`. Error naming the file for one that is not for this target, or
  /// a size that exceeds what the file lists.
  VocabularyChoice(const VocabularySpec& spec, const Fingerprint& target, std::span<const TokenId> always,
                   std::int64_t target_bytes = 0);

  /// Parts that are made in memory; `order` lists at least `size` tokens.
  explicit VocabularyChoice(ClusterPart clusters);
  VocabularyChoice(TokenOrder order, std::int64_t size, bool position_aware);

  /// From now on; for heads that are made from here on. `reads_logits`: of the head; otherwise a run may
  /// have kept none (VocabularyHead::best()).
  void observe(HeadObserver observer, bool reads_logits = true) {
    observer_ = std::move(observer);
    observer_reads_logits_ = reads_logits;
  }
  bool observer_reads_logits() const { return observer_reads_logits_; }
  /// Of dynaspec; otherwise null.
  const ClusterPart* clusters() const { return clusters_ ? &*clusters_ : nullptr; }
  /// For one drafter's head; null: all of it.
  std::unique_ptr<Shortlist> make(const HeadWeights& weights) const;
  const HeadObserver& observer() const { return observer_; }
  /// Tells it from others of the same target; empty for every token.
  std::string name() const;
  bool full() const { return spec_.kind == VocabularySpec::Kind::Full; }
  /// Whether columns may differ from call to call.
  bool dynamic() const { return spec_.kind == VocabularySpec::Kind::Clusters; }

 private:
  VocabularySpec spec_;
  std::optional<TokenOrder> order_;
  std::int64_t size_ = 0;
  AutomaticVocabulary automatic_;  ///< of `auto`
  std::optional<ClusterPart> clusters_;
  HeadObserver observer_;
  bool observer_reads_logits_ = true;
};

}  // namespace augur
