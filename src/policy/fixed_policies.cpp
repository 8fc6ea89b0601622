// How the policies without weights or state of their own are made from the plan.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "plan/keys.h"
#include "policy/registry.h"
#include "policy/shape_limits.h"
#include "policy/static_tree_policy.h"
#include "tree/tree_shapes.h"

namespace augur {
namespace {

class ChainModel final : public PolicyModel {
 public:
  explicit ChainModel(const ChainPolicy::Options& options) : options_(options) {}
  std::unique_ptr<TreePolicy> make(const DrafterIdentity&) override {
    return std::make_unique<ChainPolicy>(options_);
  }
  TreeBounds bounds() const override { return bounds_of(options_); }

 private:
  ChainPolicy::Options options_;
};

/// Look-ups that know one branch only draft a chain.
class Eagle2Model final : public PolicyModel {
 public:
  Eagle2Model(const Eagle2Policy::Options& options, const ChainPolicy::Options& chain)
      : options_(options), chain_(chain) {}
  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    if (!drafter.traits.one_shot || drafter.traits.branching) {
      return std::make_unique<Eagle2Policy>(options_);
    }
    return std::make_unique<ChainPolicy>(chain_);
  }
  int merged_nodes() const override { return options_.size - 1; }
  TreeBounds bounds() const override { return larger(bounds_of(options_), bounds_of(chain_)); }

 private:
  Eagle2Policy::Options options_;
  ChainPolicy::Options chain_;
};

/// One-shot drafters rank no candidates: they draft chains, or trees by score, next to those that do.
class StaticModel final : public PolicyModel {
 public:
  StaticModel(std::string name, TreePaths shape, const ChainPolicy::Options& chain)
      : name_(std::move(name)), shape_(std::move(shape)), chain_(chain) {}
  std::unique_ptr<TreePolicy> make(const DrafterIdentity& drafter) override {
    if (!drafter.traits.one_shot) return std::make_unique<StaticTreePolicy>(shape_);
    return std::make_unique<ChainPolicy>(chain_);
  }
  SequencePolicies make_all(std::span<const DrafterIdentity> drafters) override {
    std::string names;
    bool fills = drafters.empty();
    for (const DrafterIdentity& drafter : drafters) {
      fills = fills || !drafter.traits.one_shot;
      names += (names.empty() ? "" : ",") + drafter.name;
    }
    if (!fills) {
      throw Error("static tree '{}': speculation type '{}' ranks no candidates and cannot fill it", name_,
                  names);
    }
    return PolicyModel::make_all(drafters);
  }
  TreeBounds bounds() const override {
    // A path may bring nodes that are not listed themselves.
    std::int64_t nodes = 0;
    for (const std::vector<int>& path : shape_) nodes += std::ssize(path);
    const std::string_view key = key_of(&SpeculationPlan::static_tree).key;
    return larger({.nodes = {nodes, key}, .expanded = {nodes, key}}, bounds_of(chain_));
  }

 private:
  std::string name_;
  TreePaths shape_;
  ChainPolicy::Options chain_;
};

}  // namespace

ChainPolicy::Options chain_limits(PolicyArguments& arguments) {
  return {.max = arguments.limit(&SpeculationPlan::draft_max),
          .min = arguments.limit(&SpeculationPlan::draft_min),
          .p_min = arguments.limit(&SpeculationPlan::draft_p_min)};
}

Eagle2Policy::Options tree_limits(PolicyArguments& arguments) {
  return {.top_k = arguments.limit(&SpeculationPlan::tree_topk),
          .levels = arguments.limit(&SpeculationPlan::tree_depth),
          .size = arguments.limit(&SpeculationPlan::tree_size)};
}

TreeBounds bounds_of(const ChainPolicy::Options& chain) {
  const TreeBounds::Nodes nodes{chain.max, key_of(&SpeculationPlan::draft_max).key};
  return {.nodes = nodes, .expanded = nodes};
}

TreeBounds bounds_of(const Eagle2Policy::Options& tree) {
  const std::int64_t levels = tree.levels;
  return {.nodes = {tree.size, key_of(&SpeculationPlan::tree_size).key},
          .expanded = {1 + (levels - 1) * tree.top_k, "topk and depth"}};
}

TreeBounds larger(const TreeBounds& a, const TreeBounds& b) {
  return {.nodes = a.nodes.count >= b.nodes.count ? a.nodes : b.nodes,
          .expanded = a.expanded.count >= b.expanded.count ? a.expanded : b.expanded};
}

std::unique_ptr<PolicyModel> load_chain_policy(const PolicySource& source) {
  PolicyArguments& a = source.arguments;
  if (a.plan().tree_topk == 1) a.limit(&SpeculationPlan::tree_topk);  // how a plan may ask for a chain
  return std::make_unique<ChainModel>(chain_limits(a));
}

std::unique_ptr<PolicyModel> load_static_policy(const PolicySource& source) {
  std::string shape = source.arguments.limit(&SpeculationPlan::static_tree);
  if (shape.empty())
    throw Error("policy static needs a tree: expected its name or file (tree=, --spec-tree)");
  TreePaths paths = load_tree_paths(shape);
  return std::make_unique<StaticModel>(std::move(shape), std::move(paths), chain_limits(source.arguments));
}

std::unique_ptr<PolicyModel> load_eagle2_policy(const PolicySource& source) {
  return std::make_unique<Eagle2Model>(tree_limits(source.arguments), chain_limits(source.arguments));
}

}  // namespace augur
