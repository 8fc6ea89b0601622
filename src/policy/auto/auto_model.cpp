#include <utility>

#include "base/error.h"
#include "model/model.h"
#include "policy/auto/auto_controller.h"
#include "policy/auto/auto_policy.h"
#include "policy/node_scores.h"
#include "policy/registry.h"

namespace augur {
namespace {

/// What it learns is kept from sequence to sequence.
class AutoModel final : public PolicyModel {
 public:
  AutoModel(std::vector<std::unique_ptr<NodeScore>> scores, std::string warning)
      : scores_(std::move(scores)), warning_(std::move(warning)) {}

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
    std::vector<NodeScore*> scores;
    for (const auto& score : scores_) scores.push_back(score.get());
    for (std::size_t seat = 0; seat < seats.size(); ++seat) {
      // Scores read what a drafter that works level by level tells of its law.
      const DrafterTraits& traits = drafters[seat].traits;
      const bool scored = traits.has_probabilities && !traits.one_shot;
      policies.by_drafter.push_back(std::make_unique<AutoPolicy>(
          *controller, seat, scored ? std::span<NodeScore* const>(scores) : std::span<NodeScore* const>()));
    }
    policies.controller = std::move(controller);
    return policies;
  }

  std::int64_t most_nodes() const override { return 2 * VerifyPlan::kMostNodes; }
  std::string warning() const override { return warning_; }
  bool needs_costs() const override { return true; }
  bool lookups_first() const override { return true; }
  DrafterBelief* belief(const std::string& drafter) override { return &beliefs_.drafters[drafter]; }

 private:
  std::vector<std::unique_ptr<NodeScore>> scores_;
  std::string warning_;
  Beliefs beliefs_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_auto_policy(const PolicySource& source) {
  const Fingerprint* target = source.target == nullptr ? nullptr : &source.target->fingerprint();
  std::vector<std::unique_ptr<NodeScore>> scores;
  std::vector<std::string> warnings;
  const auto add = [&](const char* part, auto&& load) {
    const std::string folder = source.arguments.text(part);
    if (folder.empty()) return;
    std::string warning;
    scores.push_back(load(folder, target, &warning));
    if (!warning.empty()) warnings.push_back(std::move(warning));
  };
  add("c2t", load_c2t_score);
  add("hetero", load_hetero_score);
  add("acceptance", [](const std::string& folder, const Fingerprint* made_for, std::string*) {
    return load_acceptance_score(folder, made_for);
  });
  return std::make_unique<AutoModel>(std::move(scores), fmt::format("{}", fmt::join(warnings, "; ")));
}

}  // namespace augur
