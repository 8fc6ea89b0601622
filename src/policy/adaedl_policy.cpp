// AdaEDL (Agrawal, Jeon, Lee, 2024): the entropy H of the draft law bounds the chance that its token is
// accepted from below, about 1 - sqrt(gamma H). Drafting ends before a token whose bound lies below a
// threshold that follows the acceptance seen so far, by the rule of Draft & Verify (Zhang et al., 2023): with
// the smoothed rate r, the threshold moves up by a step where r < target, down where it is not, smoothed
// again.
#include <algorithm>
#include <cmath>

#include "policy/early_stop_policy.h"

namespace augur {
namespace {

struct AdaEdlOptions {
  double gamma = 0.2;
  double threshold = 0.6;  ///< to start with
  double target = 0.9;     ///< acceptance rate aimed at
  double step = 0.01;      ///< 0: the threshold stays
};

class AdaEdlRule final : public StopRule {
 public:
  explicit AdaEdlRule(const AdaEdlOptions& options)
      : options_(options), threshold_(options.threshold), rate_(options.target) {}

  NodeWants wants() const override { return {.entropy = true}; }
  bool blind_to_token() const override { return true; }

  bool passes(const DraftTree& tree, std::int32_t node) const override {
    const auto parent = static_cast<std::size_t>(tree.parents()[static_cast<std::size_t>(node)]);
    const double entropy = static_cast<double>(tree.entropies()[parent]);
    // NaN, a drafter that keeps no law, passes. Rounding may leave an entropy just below 0.
    return !(1.0 - std::sqrt(options_.gamma * std::max(entropy, 0.0)) < threshold_) || std::isnan(entropy);
  }

  /// Where drafters share a tree, the rate is that of the tree.
  void observe(const StepTrace& trace) override {
    if (trace.tree->only_root()) return;
    constexpr double kKeepRate = 0.5;
    constexpr double kKeepThreshold = 0.9;
    const double rate = static_cast<double>(trace.path.size() - 1) / trace.tree->max_depth();
    rate_ = kKeepRate * rate_ + (1 - kKeepRate) * rate;
    const double moved = threshold_ + (rate_ < options_.target ? options_.step : -options_.step);
    threshold_ = std::clamp(kKeepThreshold * threshold_ + (1 - kKeepThreshold) * moved, 0.0, 1.0);
  }

 private:
  AdaEdlOptions options_;
  double threshold_;
  double rate_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_adaedl_policy(const PolicySource& source) {
  PolicyArguments& a = source.arguments;
  AdaEdlOptions options;
  options.gamma = a.number("gamma", options.gamma, 0.0, 10.0);
  options.threshold = a.number("threshold", options.threshold, 0.0, 1.0);
  options.target = a.number("target", options.target, 0.0, 1.0);
  options.step = a.number("step", options.step, 0.0, 1.0);
  return early_stop_model(source, [options] { return std::make_unique<AdaEdlRule>(options); });
}

}  // namespace augur
