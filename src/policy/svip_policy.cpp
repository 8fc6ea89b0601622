// SVIP (Zhang et al., 2024): drafting ends after a token whose law had an entropy H with sqrt(c H) above a
// fixed threshold; 1 - sqrt(c H) bounds the chance of acceptance. The token itself was drafted and is
// verified. Constants as in the authors' program (vanilla-sd/eval_specbench.py): c = 0.15, threshold 0.3, H
// in nats.
#include <algorithm>
#include <cmath>

#include "policy/early_stop_policy.h"

namespace augur {
namespace {

class SvipRule final : public StopRule {
 public:
  SvipRule(double threshold, double gamma) : threshold_(threshold), gamma_(gamma) {}

  NodeWants wants() const override { return {.entropy = true}; }
  bool blind_to_token() const override { return true; }
  bool keeps_last() const override { return true; }
  bool passes(const DraftTree& tree, std::int32_t node) const override {
    const auto parent = static_cast<std::size_t>(tree.parents()[static_cast<std::size_t>(node)]);
    const float entropy = tree.entropies()[parent];
    // NaN: a drafter that keeps no law.
    return std::isnan(entropy) ||
           std::sqrt(gamma_ * std::max(static_cast<double>(entropy), 0.0)) <= threshold_;
  }

 private:
  double threshold_;
  double gamma_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_svip_policy(const PolicySource& source) {
  const double threshold = source.arguments.number("threshold", 0.3, 0.0, 100.0);
  const double gamma = source.arguments.number("gamma", 0.15, 0.0, 100.0);
  return early_stop_model(source, [=] { return std::make_unique<SvipRule>(threshold, gamma); });
}

}  // namespace augur
