#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/elementary.h"
#include "policy/eagle2_policy.h"
#include "policy/registry.h"
#include "tree/rerank.h"

namespace augur {
namespace {

struct TaperOptions {
  int children = 4;    ///< of every node that is expanded
  int levels = 4;      ///< of the tree
  int size = 16;       ///< nodes verified, the root included
  double share = 0.5;  ///< of the nodes that one level expands, the next one expands so many
};

/// Trees that are broad at the root and narrow to a chain: each level expands fewer nodes, the best by score.
class TaperPolicy final : public TreePolicy {
 public:
  explicit TaperPolicy(const TaperOptions& options) : options_(options) {}

  void begin(const RoundInfo& round) override {
    keep_ = std::min(options_.size - 1, round.room);
    levels_ = std::min(options_.levels, round.most_levels());
    one_shot_ = round.drafter.one_shot;  // it adds its whole branch at the root
    level_ = 0;
    first_ = DraftTree::kRoot;
  }

  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override {
    out.clear();
    if (keep_ == 0 || level_ == levels_) return;
    out.resize(static_cast<std::size_t>(tree.size() - first_));
    std::iota(out.begin(), out.end(), first_);  // the newest level
    const double share = elementary::pow(options_.share, level_);
    const double wanted = std::max(1.0, std::round(options_.children * share));
    const std::size_t count = std::min(out.size(), static_cast<std::size_t>(wanted));
    best_first(out, count, tree.scores());
    out.resize(count);
    first_ = tree.size();
    ++level_;
  }

  int width() const override { return one_shot_ ? keep_ : options_.children; }

  void prune(DraftTree& tree) override {
    if (tree.size() <= keep_ + 1) return;
    if (tree.law() == ProposalLaw::Sampled) {
      tree.truncate(keep_ + 1);  // by place: which nodes go must not depend on the tokens drawn for them
    } else {
      reranker_.keep_best(tree, static_cast<std::size_t>(keep_));
    }
  }

 private:
  TaperOptions options_;
  int keep_ = 0;  ///< nodes beside the root, in this round
  int levels_ = 0;
  bool one_shot_ = false;
  int level_ = 0;
  std::int32_t first_ = 0;  ///< node of the newest level
  Reranker reranker_;
};

class TaperModel final : public PolicyModel {
 public:
  explicit TaperModel(const TaperOptions& options) : options_(options) {}

  std::unique_ptr<TreePolicy> make(const DrafterIdentity&) override {
    return std::make_unique<TaperPolicy>(options_);
  }
  int merged_nodes() const override { return options_.size - 1; }
  TreeBounds bounds() const override {
    return bounds_of(Eagle2Policy::Options{options_.children, options_.levels, options_.size});
  }

 private:
  TaperOptions options_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_taper_policy(const PolicySource& source) {
  PolicyArguments& settings = source.arguments;
  return std::make_unique<TaperModel>(TaperOptions{.children = settings.limit(&SpeculationPlan::tree_topk),
                                                   .levels = settings.limit(&SpeculationPlan::tree_depth),
                                                   .size = settings.limit(&SpeculationPlan::tree_size),
                                                   .share = settings.number("share", 0.5, 0.0, 1.0)});
}

}  // namespace augur
