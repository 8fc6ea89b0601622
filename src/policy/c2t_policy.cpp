#include "policy/c2t_policy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/elementary.h"
#include "policy/registry.h"
#include "tree/usual_sizes.h"

namespace augur {

C2tPolicy::C2tPolicy(std::shared_ptr<const C2tClassifier> classifier, const Options& options)
    : classifier_(std::move(classifier)), options_(options) {
  fresh_.reserve(kUsualTree);
  qualified_.reserve(kUsualTree);
}

void C2tPolicy::begin(const RoundInfo& round) {
  room_ = std::max(0, std::min(options_.size - 1, round.room));
  levels_ = std::max(0, std::min({options_.levels, round.max_depth, round.drafter.max_depth}));
  level_ = 0;
  level_begin_ = 0;
  one_shot_ = round.drafter.one_shot;
  measured_ = round.drafter.has_probabilities;
  clock_ = round.clock;
  classify_ms_ = 0;
  qualified_.assign(1, DraftTree::kRoot);
}

int C2tPolicy::width() const {
  if (one_shot_) return options_.chain ? std::min(room_, levels_) : room_;
  return options_.chain ? 1 : options_.children;
}

void C2tPolicy::rate(const DraftTree& tree) {
  fresh_.resize(static_cast<std::size_t>(tree.size() - level_begin_));
  std::iota(fresh_.begin(), fresh_.end(), level_begin_);
  // A one-shot drafter's whole branches are one batch: there each node is rated.
  const std::size_t rated =
      one_shot_ ? fresh_.size() : std::min(fresh_.size(), static_cast<std::size_t>(options_.top_k));
  best_first(fresh_, rated, tree.scores());
  fresh_.resize(rated);
  level_begin_ = tree.size();
  if (measured_) {
    const Stopwatch watch(*clock_);
    keep_those_above_beta(tree);
    classify_ms_ += watch.ms();
    if (options_.second > 0) keep_confident();
  }
  qualified_.insert(qualified_.end(), fresh_.begin(), fresh_.end());
}

void C2tPolicy::keep_those_above_beta(const DraftTree& tree) {
  confidences_.clear();
  std::erase_if(fresh_, [&](std::int32_t node) {
    const double confident = confidence(tree, node);
    if (!(confident > options_.beta)) return true;
    confidences_.push_back(confident);
    return false;
  });
}

double C2tPolicy::confidence(const DraftTree& tree, std::int32_t node) const {
  const auto n = static_cast<std::size_t>(node);
  const auto entropies = options_.entropy_top > 0 ? tree.top_entropies() : tree.entropies();
  const float entropy = entropies[static_cast<std::size_t>(tree.parents()[n])];
  // A drafter that keeps no entropy is taken to be sure.
  return classifier_->confidence({.joint = elementary::exp(static_cast<double>(tree.scores()[n])),
                                  .entropy = std::isnan(entropy) ? 0.0 : static_cast<double>(entropy),
                                  .depth = static_cast<double>(tree.depths()[n])});
}

void C2tPolicy::keep_confident() {
  const auto kept = static_cast<std::size_t>(options_.second);
  if (fresh_.size() <= kept) return;
  order_.resize(fresh_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  // Of equally confident ones the likelier stays.
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return confidences_[a] > confidences_[b]; });
  order_.resize(kept);
  std::sort(order_.begin(), order_.end());
  for (std::size_t i = 0; i < kept; ++i) fresh_[i] = fresh_[order_[i]];
  fresh_.resize(kept);
}

void C2tPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  if (room_ == 0 || levels_ == 0) return;
  if (level_ == 0) {
    out.push_back(DraftTree::kRoot);
    level_begin_ = tree.size();
    ++level_;
    return;
  }
  rate(tree);
  // The last level is rated, too, but not drafted on from.
  if (one_shot_ || level_ >= levels_ || static_cast<int>(qualified_.size()) > room_) return;
  out.assign(fresh_.begin(), fresh_.end());
  ++level_;
}

void C2tPolicy::prune(DraftTree& tree) {
  if (tree.law() == ProposalLaw::Sampled) {
    if (tree.size() > room_ + 1) tree.truncate(room_ + 1);
    return;
  }
  std::sort(qualified_.begin(), qualified_.end());
  // Level by level a node's parent has qualified before it; a one-shot drafter's are rated all at once.
  std::size_t kept = 1;
  for (std::size_t i = 1; i < qualified_.size(); ++i) {
    const std::int32_t parent = tree.parents()[static_cast<std::size_t>(qualified_[i])];
    const auto end = qualified_.begin() + static_cast<std::ptrdiff_t>(kept);
    if (std::binary_search(qualified_.begin(), end, parent)) qualified_[kept++] = qualified_[i];
  }
  qualified_.resize(kept);
  if (std::ssize(qualified_) < tree.size()) tree.select(qualified_);
  reranker_.keep_best(tree, static_cast<std::size_t>(room_));
}

namespace {

class C2tModel final : public PolicyModel {
 public:
  C2tModel(std::shared_ptr<const C2tClassifier> classifier, const C2tPolicy::Options& options,
           std::string warning)
      : classifier_(std::move(classifier)), options_(options), warning_(std::move(warning)) {}

  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    C2tPolicy::Options options = options_;
    if (drafter.traits.one_branch()) options.chain = true;
    return std::make_unique<C2tPolicy>(classifier_, options);
  }
  int merged_nodes() const override { return options_.size - 1; }
  std::string warning() const override { return warning_; }
  TreeBounds bounds() const override {
    // Of the last level's children those stay that are rated well enough.
    const std::int64_t fresh = static_cast<std::int64_t>(options_.top_k) * options_.children;
    return {.nodes = {options_.size + fresh, "size and topk"},
            .expanded = {options_.size + fresh, "size and topk"}};
  }

 private:
  std::shared_ptr<const C2tClassifier> classifier_;
  C2tPolicy::Options options_;
  std::string warning_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_c2t_policy(const PolicySource& source) {
  constexpr int kMostRated = 1 << 12;
  constexpr int kMostTop = 1 << 24;  // more than any vocabulary has
  PolicyArguments& a = source.arguments;
  C2tPolicy::Options options;
  options.beta = a.number("beta", options.beta, 0.0, 1.0);
  options.top_k = a.integer("topk", options.top_k, 1, kMostRated);
  options.second = a.integer("second", options.second, 0, kMostRated);
  options.children = a.limit(&SpeculationPlan::tree_topk, "children");
  options.levels = a.limit(&SpeculationPlan::tree_depth);
  options.size = a.limit(&SpeculationPlan::tree_size, {}, options.size);
  options.entropy_top = a.text("entropy-top") == "all" ? kMostTop : a.integer("entropy-top", 0, 0, kMostTop);
  options.chain = a.flag("chain", false);
  std::string warning;
  auto classifier = std::make_shared<const C2tClassifier>(
      C2tClassifier::read(source.part(), source.fingerprint(), &warning));
  return std::make_unique<C2tModel>(std::move(classifier), options, std::move(warning));
}

}  // namespace augur
