#pragma once
#include "policy/arguments.h"
#include "policy/chain_shape.h"
#include "policy/policy.h"
#include "policy/tree_bounds.h"

namespace augur {

/// A chain of up to `max` tokens, as llama.cpp drafts: it ends before a token whose draft probability is
/// below `p_min`, and a chain shorter than `min` is not worth a verification. Under the Sampled law p_min
/// only decides whether to go on after a token: dropping the token itself would change the law. Drafters
/// whose probabilities are guesses are not measured by it, and those with a confidence of their own by that.
class ChainPolicy final : public TreePolicy {
 public:
  struct Options {
    int max = 4;
    int min = 0;
    double p_min = 0.0;
  };
  explicit ChainPolicy(const Options& options) : options_(options), chain_(options.max) {}

  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return chain_.width(); }
  double least_confidence() const override { return options_.p_min; }
  bool branches() const override { return false; }
  void prune(DraftTree& tree) override;

 private:
  bool confident(const DraftTree& tree, std::int32_t node) const;

  Options options_;
  ChainShape chain_;
  double p_min_ = 0.0;  ///< of this round
};

/// A plan's n-max, n-min and p-min, each read as PolicyArguments::limit() does.
ChainPolicy::Options chain_limits(PolicyArguments& arguments);
/// How large such a chain can get.
TreeBounds bounds_of(const ChainPolicy::Options& chain);

}  // namespace augur
