#pragma once
#include <memory>
#include <vector>

#include "policy/c2t_classifier.h"
#include "policy/policy.h"
#include "tree/rerank.h"

namespace augur {

/// C2T's tree construction (Huo et al., 2025): of each new level the `top_k` most probable nodes by joint
/// probability are rated by the classifier; those above `beta`, or the `second` most confident of them, are
/// drafted on from, and are what is verified, until the deepest level or until none qualifies. As a chain it
/// is an early exit.
///
/// Drawn tokens (the Sampled law) cannot be dropped for what they are: there the classifier decides only
/// where drafting goes on, and surplus nodes go by place.
class C2tPolicy final : public TreePolicy {
 public:
  struct Options {
    double beta = 0.5;
    int top_k = 15;    ///< rated nodes of a level
    int second = 0;    ///< of those that qualify the most confident so many; 0: all
    int children = 4;  ///< candidates per node (the paper's draft takes K = 10 of them)
    int levels = 6;
    int size = 64;  ///< nodes verified at most, the root included
    /// Largest probabilities that the entropy is taken over; 0: kEntropyTop, which classifiers learn from.
    int entropy_top = 0;
    bool chain = false;
  };
  C2tPolicy(std::shared_ptr<const C2tClassifier> classifier, const Options& options);

  NodeWants wants() const override {
    if (!classifier_->uses_entropy()) return {};
    return options_.entropy_top > 0 ? NodeWants{.top_k = options_.entropy_top} : NodeWants{.entropy = true};
  }
  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override;
  bool branches() const override { return !options_.chain; }
  void prune(DraftTree& tree) override;
  double classify_ms() const override { return classify_ms_; }

 private:
  /// Rates the nodes that were added since the last call.
  void rate(const DraftTree& tree);
  double confidence(const DraftTree& tree, std::int32_t node) const;
  void keep_those_above_beta(const DraftTree& tree);
  /// Leaves of fresh_ the most confident ones, in their order.
  void keep_confident();

  std::shared_ptr<const C2tClassifier> classifier_;
  Options options_;
  int levels_ = 0;  ///< of this round
  int level_ = 0;
  int room_ = 0;  ///< nodes beside the root
  bool one_shot_ = false;
  bool measured_ = true;  ///< the drafter has a law
  std::int32_t level_begin_ = 0;
  std::vector<std::int32_t> fresh_;      ///< of the newest level, those that qualified, best first
  std::vector<double> confidences_;      ///< of fresh_
  std::vector<std::size_t> order_;       ///< scratch
  std::vector<std::int32_t> qualified_;  ///< of all levels, ascending; the root first
  Reranker reranker_;
  const Clock* clock_ = nullptr;
  double classify_ms_ = 0;
};

}  // namespace augur
