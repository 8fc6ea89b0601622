// SVIP (Zhang et al., 2024): drafting ends where the square root of the draft law's entropy exceeds a fixed
// threshold; the root is that of the acceptance bound 1 - sqrt(c H).
#include <algorithm>
#include <cmath>

#include "policy/early_stop_policy.h"

namespace augur {
namespace {

class SvipRule final : public StopRule {
 public:
  explicit SvipRule(double threshold) : threshold_(threshold) {}

  std::string_view name() const override { return "svip"; }
  NodeWants wants() const override { return {.entropy = true}; }
  bool blind_to_token() const override { return true; }
  bool passes(const DraftTree& tree, std::int32_t node) const override {
    const auto parent = static_cast<std::size_t>(tree.parents()[static_cast<std::size_t>(node)]);
    const float entropy = tree.entropies()[parent];
    // NaN: a drafter that keeps no law.
    return std::isnan(entropy) || std::sqrt(std::max(static_cast<double>(entropy), 0.0)) <= threshold_;
  }

 private:
  double threshold_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_svip_policy(const PolicySource& source) {
  const double threshold = source.arguments.number("threshold", 0.7, 0.0, 100.0);
  return early_stop_model(source, [threshold] { return std::make_unique<SvipRule>(threshold); });
}

}  // namespace augur
