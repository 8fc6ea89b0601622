#include "base/error.h"
#include "control/auto_controller.h"
#include "control/auto_policy.h"
#include "policy/registry.h"

namespace augur {
namespace {

/// What it learns is kept from sequence to sequence.
class AutoModel final : public PolicyModel {
 public:
  std::unique_ptr<TreePolicy> make(const DrafterSeat& drafter) override {
    throw Error("policy auto steers the drafters of a sequence together, not {} alone", drafter.name);
  }

  SequencePolicies make_all(std::span<const DrafterSeat> drafters) override {
    std::vector<AutoController::Seat> seats;
    for (const DrafterSeat& drafter : drafters) {
      seats.push_back({.name = drafter.name, .lookup = !drafter.traits.has_probabilities});
    }
    SequencePolicies policies;
    if (seats.empty()) return policies;
    auto controller = std::make_unique<AutoController>(beliefs_, seats);
    for (std::size_t seat = 0; seat < seats.size(); ++seat) {
      policies.by_drafter.push_back(std::make_unique<AutoPolicy>(*controller, seat));
    }
    policies.controller = std::move(controller);
    return policies;
  }

  std::int64_t most_nodes() const override { return 2 * VerifyPlan::kMostNodes; }
  bool needs_costs() const override { return true; }
  bool lookups_first() const override { return true; }

 private:
  Beliefs beliefs_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_auto_policy(const PolicySource&) {
  return std::make_unique<AutoModel>();
}

}  // namespace augur
