#include "policy/acceptance_policy.h"

#include <algorithm>
#include <utility>

#include "base/elementary.h"
#include "base/error.h"
#include "cost/cost.h"
#include "files/part_location.h"
#include "model/model.h"
#include "policy/registry.h"
#include "tree/usual_sizes.h"

namespace augur {

AcceptancePolicy::AcceptancePolicy(std::shared_ptr<AcceptanceHead> head, const Options& options)
    : head_(std::move(head)), options_(options), eagle2_(options.shape) {
  accepted_.reserve(kUsualTree);
  frontier_.reserve(static_cast<std::size_t>(options.shape.top_k));
}

void AcceptancePolicy::begin(const RoundInfo& round) {
  round_ = round;
  eagle2_.begin(round);
  level_ = 0;
  classify_ms_ = 0;
  accepted_.assign(1, 1.0);
  frontier_.clear();
}

double AcceptancePolicy::threshold(int width, int candidates) const {
  if (options_.threshold > 0) return options_.threshold;
  const double rows = 1 + std::min({candidates, options_.shape.size - 1, round_.room});
  const double verify = round_.costs->verify_ms(rows, static_cast<double>(round_.context));
  const double draft = round_.draft_costs->level_ms(1, width);
  return (verify - draft) / (verify + round_.costs->other_ms());
}

/// Draft probabilities are known when a node is added. A head knows more of a node once it has been expanded,
/// so it rates the last frontier's.
void AcceptancePolicy::rate(const DraftTree& tree) {
  if (head_ != nullptr) {
    std::erase_if(frontier_,
                  [&](std::int32_t node) { return node == DraftTree::kRoot || tree.hidden(node).empty(); });
    by_head_.resize(frontier_.size());
    const Stopwatch watch(*round_.clock);
    head_->probabilities(tree, frontier_, by_head_);
    classify_ms_ += watch.ms();
    // In the order in which they were expanded: parents are rated a level before their children.
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      const auto node = static_cast<std::size_t>(frontier_[i]);
      accepted_[node] = accepted_[static_cast<std::size_t>(tree.parents()[node])] * by_head_[i];
    }
  }
  for (auto v = std::ssize(accepted_); v < tree.size(); ++v) {
    const auto node = static_cast<std::size_t>(v);
    accepted_.push_back(accepted_[static_cast<std::size_t>(tree.parents()[node])] *
                        elementary::exp(static_cast<double>(tree.log_probs()[node])));
  }
}

void AcceptancePolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  if (level_ > 0) rate(tree);
  eagle2_.next_frontier(tree, out);
  if (out.empty()) return;
  if (level_ > 0 && round_.drafter.has_probabilities) {
    const double h = threshold(static_cast<int>(out.size()), tree.size() - 1);
    const auto stopped = [&](std::int32_t node) {
      return 1.0 - accepted_[static_cast<std::size_t>(node)] > h;
    };
    if (options_.all_branches && (std::any_of(frontier_.begin(), frontier_.end(), stopped) ||
                                  std::any_of(out.begin(), out.end(), stopped))) {
      out.clear();
    }
    std::erase_if(out, stopped);
  }
  ++level_;
  frontier_.assign(out.begin(), out.end());
}

namespace {

class AcceptanceModel final : public PolicyModel {
 public:
  AcceptanceModel(std::shared_ptr<AcceptanceHead> head, const AcceptancePolicy::Options& options,
                  const ChainPolicy::Options& chain, std::string warning)
      : head_(std::move(head)), options_(options), chain_(chain), warning_(std::move(warning)) {}

  /// Look-ups draft as they do beside EAGLE-2.
  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    if (!drafter.traits.one_shot) return std::make_unique<AcceptancePolicy>(head_, options_);
    return tree_or_chain(drafter.traits, options_.shape, chain_);
  }
  int merged_nodes() const override { return options_.shape.size - 1; }
  TreeBounds bounds() const override { return larger(bounds_of(options_.shape), bounds_of(chain_)); }
  bool needs_costs() const override { return options_.threshold <= 0; }
  std::string warning() const override { return warning_; }

 private:
  std::shared_ptr<AcceptanceHead> head_;
  AcceptancePolicy::Options options_;
  ChainPolicy::Options chain_;
  std::string warning_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_acceptance_policy(const PolicySource& source) {
  constexpr int kUsualLevels = 6;
  PolicyArguments& a = source.arguments;
  AcceptancePolicy::Options options;
  options.shape.levels = a.limit(&SpeculationPlan::tree_depth, "k-max", kUsualLevels);
  options.threshold = a.number("h", 0.0, 0.0, 1.0);
  options.all_branches = a.flag("all", false);
  options.chain = a.flag("chain", false);
  options.shape.top_k = options.chain ? 1 : a.limit(&SpeculationPlan::tree_topk);
  options.shape.size = options.chain ? options.shape.levels + 1 : a.limit(&SpeculationPlan::tree_size);
  std::string folder = a.text("model");
  std::string warning;
  if (folder.empty()) {
    folder = find_part(source.parts, "acceptance").string();
    if (folder.empty() && !source.parts.empty()) {
      warning = fmt::format("policy acceptance: {}: no part, so the drafter's own probabilities decide",
                            (source.parts / "acceptance").string());
    }
  } else if (folder == "none") {
    folder.clear();
  }
  std::shared_ptr<AcceptanceHead> head;
  if (!folder.empty()) {
    if (source.target == nullptr)
      throw Error(ErrorKind::Internal, "policy acceptance: {}: there is no target for it", folder);
    head = std::make_shared<AcceptanceHead>(folder, source.fingerprint(), source.target->backend());
  }
  return std::make_unique<AcceptanceModel>(std::move(head), options, chain_limits(a), std::move(warning));
}

}  // namespace augur
