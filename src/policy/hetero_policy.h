#pragma once
#include <memory>
#include <vector>

#include "policy/eagle2_policy.h"
#include "policy/hetero_bins.h"

namespace augur {

/// HeteroSpec: EAGLE-2's tree, of which depth and size follow the entropy of the draft. When the base depth
/// has been drafted, Phi is summed along P*, the path whose last law is the surest, and names a bin B_i. In
/// the lowest bins drafting goes on for alpha - i levels, and gamma_i of the usual nodes (and so many levels'
/// more) are verified.
///
/// Where candidates are drawn (the Sampled law) it is EAGLE-2: which nodes are verified must not depend on
/// what was drawn, and P* does.
class HeteroPolicy final : public TreePolicy {
 public:
  struct Options {
    Eagle2Policy::Options shape;               ///< its levels are the base depth
    int alpha = 0;                             ///< 0: the sure bins, where none is known half the base depth
    std::vector<double> gamma{0.3, 0.6, 1.0};  ///< of the lowest bins; those beyond are left alone
    bool extend = true;                        ///< dynamic extended drafting
    bool prune = true;                         ///< top-N pruning
    bool keep_shapes = true;                   ///< bins' shapes are made once, not for every round
  };
  HeteroPolicy(std::shared_ptr<const HeteroBins> bins, const Options& options);

  NodeWants wants() const override { return {.top_k = bins_->top_k}; }
  void begin(const RoundInfo& round) override;
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override;
  int width() const override { return eagle2_.width(); }
  void prune(DraftTree& tree) override { eagle2_.prune(tree); }
  double classify_ms() const override { return classify_ms_; }

  /// What a bin's rounds look like.
  struct BinShape {
    int levels = 0;
    int size = 0;  ///< nodes verified, the root included
  };
  static std::vector<BinShape> make_shapes(const HeteroBins& bins, const Options& options);

 private:
  /// Finds the draft's bin and takes its shape.
  void classify(const DraftTree& tree);

  std::shared_ptr<const HeteroBins> bins_;
  Options options_;
  Eagle2Policy eagle2_;
  std::vector<BinShape> shapes_;  ///< by bin
  std::vector<std::int32_t> frontier_;
  int level_ = 0;
  bool classified_ = false;  ///< this round's draft has been
  const Clock* clock_ = nullptr;
  double classify_ms_ = 0;
};

}  // namespace augur
