#pragma once
#include "policy/policy.h"

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
  explicit ChainPolicy(const Options& options) : options_(options) {
    keep_.reserve(static_cast<std::size_t>(options.max) + 1);
  }

  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return one_shot_ ? limit_ : 1; }
  double least_confidence() const override { return options_.p_min; }
  bool branches() const override { return false; }
  void prune(DraftTree& tree) override;

 private:
  bool confident(const DraftTree& tree, std::int32_t node) const;

  Options options_;
  int limit_ = 0;
  double p_min_ = 0.0;  ///< of this round
  bool one_shot_ = false;
  bool started_ = false;
  std::vector<std::int32_t> keep_;  ///< scratch of prune()
};

}  // namespace augur
