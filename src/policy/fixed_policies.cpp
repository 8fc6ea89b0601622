// How the policies without weights or state of their own are made from the flags.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "policy/registry.h"
#include "policy/static_tree_policy.h"
#include "tree/tree_shapes.h"

namespace augur {
namespace {

constexpr int kMost = 1 << 16;

ChainPolicy::Options chain_options(const PolicySource& source) {
  PolicyArguments& a = source.arguments;
  ChainPolicy::Options chain;
  chain.max = a.integer("n-max", source.limits.draft_max, 1, kMost);
  chain.min = a.integer("n-min", source.limits.draft_min, 0, kMost);
  chain.p_min = a.number("p-min", source.limits.draft_p_min, 0.0, 1.0);
  return chain;
}

class ChainModel final : public PolicyModel {
 public:
  explicit ChainModel(const ChainPolicy::Options& options) : options_(options) {}
  std::unique_ptr<TreePolicy> make(const DrafterSeat&) override {
    return std::make_unique<ChainPolicy>(options_);
  }
  std::int64_t most_nodes() const override { return options_.max; }

 private:
  ChainPolicy::Options options_;
};

/// Look-ups that know one branch only draft a chain.
class Eagle2Model final : public PolicyModel {
 public:
  Eagle2Model(const Eagle2Policy::Options& options, const ChainPolicy::Options& chain)
      : options_(options), chain_(chain) {}
  std::unique_ptr<TreePolicy> make(const DrafterSeat& drafter) override {
    if (!drafter.traits.one_shot || drafter.traits.branching) {
      return std::make_unique<Eagle2Policy>(options_);
    }
    return std::make_unique<ChainPolicy>(chain_);
  }
  int merged_nodes() const override { return options_.size - 1; }
  std::int64_t most_nodes() const override { return std::max(options_.size, chain_.max); }

 private:
  Eagle2Policy::Options options_;
  ChainPolicy::Options chain_;
};

/// One-shot drafters rank no candidates: they draft chains, or trees by score, next to those that do.
class StaticModel final : public PolicyModel {
 public:
  StaticModel(std::string name, TreePaths shape, const ChainPolicy::Options& chain)
      : name_(std::move(name)), shape_(std::move(shape)), chain_(chain) {}
  std::unique_ptr<TreePolicy> make(const DrafterSeat& drafter) override {
    if (!drafter.traits.one_shot) return std::make_unique<StaticTreePolicy>(shape_);
    return std::make_unique<ChainPolicy>(chain_);
  }
  SequencePolicies make_all(std::span<const DrafterSeat> drafters) override {
    std::string names;
    bool fills = drafters.empty();
    for (const DrafterSeat& drafter : drafters) {
      fills = fills || !drafter.traits.one_shot;
      names += (names.empty() ? "" : ",") + drafter.name;
    }
    if (!fills) {
      throw Error("static tree '{}': speculation type '{}' ranks no candidates and cannot fill it", name_,
                  names);
    }
    return PolicyModel::make_all(drafters);
  }
  std::int64_t most_nodes() const override {
    // A path may bring nodes that are not listed themselves.
    std::int64_t nodes = chain_.max;
    for (const std::vector<int>& path : shape_) nodes += std::ssize(path);
    return nodes;
  }

 private:
  std::string name_;
  TreePaths shape_;
  ChainPolicy::Options chain_;
};

}  // namespace

std::unique_ptr<PolicyModel> load_chain_policy(const PolicySource& source) {
  return std::make_unique<ChainModel>(chain_options(source));
}

std::unique_ptr<PolicyModel> load_static_policy(const PolicySource& source) {
  std::string shape = source.arguments.text("tree", source.limits.static_tree);
  if (shape.empty()) throw Error("policy static needs a tree: --spec-tree NAME|FILE");
  TreePaths paths = load_tree_paths(shape);
  return std::make_unique<StaticModel>(std::move(shape), std::move(paths), chain_options(source));
}

std::unique_ptr<PolicyModel> load_eagle2_policy(const PolicySource& source) {
  PolicyArguments& a = source.arguments;
  Eagle2Policy::Options options;
  options.top_k = a.integer("topk", source.limits.tree_topk, 1, kMost);
  options.levels = a.integer("depth", source.limits.tree_depth, 1, kMost);
  options.size = a.integer("size", source.limits.tree_size, 2, kMost);
  return std::make_unique<Eagle2Model>(options, chain_options(source));
}

}  // namespace augur
