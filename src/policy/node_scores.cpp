#include "policy/node_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "policy/acceptance_head.h"
#include "policy/c2t_classifier.h"
#include "policy/hetero_bins.h"

namespace augur {
namespace {

class C2tScore final : public NodeScore {
 public:
  explicit C2tScore(C2tClassifier classifier) : classifier_(std::move(classifier)) {}

  std::string_view name() const override { return "c2t"; }
  NodeWants wants() const override { return {.entropy = classifier_.uses_entropy()}; }
  Reading read(const DraftTree& tree, std::int32_t node) override {
    const std::int32_t parent = tree.parents()[static_cast<std::size_t>(node)];
    const double of_parent = parent == DraftTree::kRoot ? 1.0 : confidence(tree, parent);
    const double ratio = confidence(tree, node) / std::max(of_parent, kLeast);
    return {.log_prob = std::log(std::clamp(ratio, kLeast, 1.0)), .stratum = 0};
  }

 private:
  static constexpr double kLeast = 1e-9;

  double confidence(const DraftTree& tree, std::int32_t node) const {
    const auto n = static_cast<std::size_t>(node);
    const float entropy = tree.entropies()[static_cast<std::size_t>(tree.parents()[n])];
    return classifier_.confidence({.joint = std::exp(static_cast<double>(tree.scores()[n])),
                                   .entropy = std::isnan(entropy) ? 0.0 : static_cast<double>(entropy),
                                   .depth = static_cast<double>(tree.depths()[n])});
  }

  C2tClassifier classifier_;
};

class AcceptanceScore final : public NodeScore {
 public:
  explicit AcceptanceScore(AcceptanceHead head) : head_(std::move(head)) {}

  std::string_view name() const override { return "acceptance"; }
  NodeWants wants() const override { return head_.wants(); }
  Reading read(const DraftTree& tree, std::int32_t node) override {
    if (tree.hidden(node).empty()) return {};
    double p = 0;
    head_.probabilities(tree, {&node, 1}, {&p, 1});
    return {.log_prob = std::log(std::max(p, 1e-9)), .stratum = 0};
  }

 private:
  AcceptanceHead head_;
};

class HeteroScore final : public NodeScore {
 public:
  explicit HeteroScore(HeteroBins bins) : bins_(std::move(bins)) {}

  std::string_view name() const override { return "hetero"; }
  NodeWants wants() const override { return {.top_k = bins_.top_k}; }
  int strata() const override { return bins_.count(); }
  Reading read(const DraftTree& tree, std::int32_t node) override {
    const auto n = static_cast<std::size_t>(node);
    double phi = 0;
    for (std::int32_t v = tree.parents()[n]; v >= 0; v = tree.parents()[static_cast<std::size_t>(v)]) {
      phi += static_cast<double>(tree.top_entropies()[static_cast<std::size_t>(v)]);
    }
    if (std::isnan(phi)) return {};  // a drafter that keeps no law
    return {.log_prob = static_cast<double>(tree.log_probs()[n]),
            .stratum = bins_.bin(phi * bins_.depth / tree.depths()[n])};
  }

 private:
  HeteroBins bins_;
};

}  // namespace

std::unique_ptr<NodeScore> load_c2t_score(const std::filesystem::path& folder, const Fingerprint* target,
                                          std::string* warning) {
  return std::make_unique<C2tScore>(C2tClassifier::read(folder, target, warning));
}

std::unique_ptr<NodeScore> load_acceptance_score(const std::filesystem::path& folder,
                                                 const Fingerprint* target) {
  return std::make_unique<AcceptanceScore>(AcceptanceHead::read(folder, target));
}

std::unique_ptr<NodeScore> load_hetero_score(const std::filesystem::path& folder, const Fingerprint* target,
                                             std::string* warning) {
  return std::make_unique<HeteroScore>(HeteroBins::read(folder, target, warning));
}

}  // namespace augur
