// DyJoint, a baseline of C2T's (Huo et al., 2025, table 3): drafting ends before a token whose path's joint
// probability lies below a threshold. A token that was drawn cannot be dropped for what it is; there drafting
// ends after it.
#include "base/elementary.h"
#include "policy/early_stop_policy.h"

namespace augur {
namespace {

class DyJointRule final : public StopRule {
 public:
  explicit DyJointRule(double least) : least_(least) {}
  bool passes(const DraftTree& tree, std::int32_t node) const override {
    return elementary::exp(static_cast<double>(tree.scores()[static_cast<std::size_t>(node)])) >= least_;
  }

 private:
  double least_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_djoint_policy(const PolicySource& source) {
  const double least = source.arguments.number("threshold", 0.3, 0.0, 1.0);
  return early_stop_model(source, [least] { return std::make_unique<DyJointRule>(least); });
}

}  // namespace augur
