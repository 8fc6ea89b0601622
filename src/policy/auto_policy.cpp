#include <memory>

#include "base/error.h"
#include "policy/auto/choose.h"
#include "policy/registry.h"

namespace augur {
namespace {

/// What it learns is kept from sequence to sequence.
class AutoModel final : public PolicyModel {
 public:
  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    throw Error(refused("speculative"),
                "policy auto steers the drafters of a sequence together, not {} alone", drafter.name);
  }

  SequencePolicies make_all(std::span<const DrafterIdentity> drafters) override {
    SequencePolicies policies;
    if (drafters.empty()) return policies;
    auto sequence = std::make_unique<AutoSequence>();
    for (const DrafterIdentity& drafter : drafters) {
      sequence->drafters.emplace_back(chooser_->belief(drafter.name));
    }
    policies.by_drafter.resize(drafters.size());
    policies.steering.controller = chooser_;
    policies.steering.sequence = std::move(sequence);
    return policies;
  }

  TreeBounds bounds() const override {
    const std::string_view key = "policy";
    return {.nodes = {AutoSequence::kMostNodes, key},
            .expanded = {AutoSequence::kMostNodes / 2, key},
            .batch = AutoSequence::kMostNodes};
  }
  bool needs_costs() const override { return true; }
  bool lookups_first() const override { return true; }
  void forget_learnt() override { chooser_ = std::make_shared<Chooser>(); }

 private:
  std::shared_ptr<Chooser> chooser_ = std::make_shared<Chooser>();
};

}  // namespace

std::unique_ptr<PolicyModel> load_auto_policy(const PolicySource& source) {
  for (const char* part : {"c2t", "hetero", "acceptance"}) {
    if (source.arguments.has(part)) {
      throw Error(
          refused("speculative"),
          "policy auto: {}: auto calibrates the drafter's own probabilities, which know as much; use policy "
          "{}",
          part, part);
    }
  }
  return std::make_unique<AutoModel>();
}

}  // namespace augur
