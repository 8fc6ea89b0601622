#include "policy/static_tree_policy.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "plan/keys.h"
#include "policy/chain_policy.h"
#include "policy/registry.h"
#include "tree/tree_shapes.h"

namespace augur {

StaticTreePolicy::StaticTreePolicy(std::span<const std::vector<int>> paths) : shape_(1) {
  for (const std::vector<int>& path : paths) {
    if (path.empty()) throw Error("static tree: a path is empty");
    std::size_t node = 0;
    for (const int rank : path) {
      if (rank < 0) throw Error("static tree: rank {} in a path is negative", rank);
      std::size_t next = child(node, rank);
      if (next == 0) {
        next = shape_.size();
        shape_[node].children.emplace_back(rank, next);
        shape_[node].widest_rank = std::max(shape_[node].widest_rank, rank);
        shape_.push_back({.depth = shape_[node].depth + 1});
      }
      node = next;
    }
  }
}

std::size_t StaticTreePolicy::child(std::size_t node, int rank) const {
  for (const auto& [r, id] : shape_[node].children) {
    if (r == rank) return id;
  }
  return 0;
}

void StaticTreePolicy::begin(const RoundInfo& round) {
  level_ = 0;
  width_ = 0;
  room_ = std::max(0, round.room);
  most_levels_ = round.most_levels();
  one_shot_ = round.drafter.one_shot;
}

void StaticTreePolicy::place(const DraftTree& tree) {
  placed_.assign(static_cast<std::size_t>(tree.size()), 0);
  for (std::int32_t node = 0; node < tree.size(); ++node) {
    const std::size_t at = placed_[static_cast<std::size_t>(node)];
    if (at == 0 && node != DraftTree::kRoot) continue;
    int rank = 0;
    for (std::int32_t c = tree.first_child(node); c >= 0; c = tree.next_sibling(c), ++rank) {
      placed_[static_cast<std::size_t>(c)] = child(at, rank);
    }
  }
}

void StaticTreePolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  width_ = 0;
  if (room_ == 0 || level_ >= most_levels_) return;
  place(tree);
  for (std::int32_t node = 0; node < tree.size(); ++node) {
    const std::size_t at = placed_[static_cast<std::size_t>(node)];
    const bool in_shape = at != 0 || node == DraftTree::kRoot;
    if (!in_shape || shape_[at].depth != level_ || shape_[at].children.empty()) continue;
    out.push_back(node);
    width_ = std::max(width_, shape_[at].widest_rank + 1);
  }
  if (one_shot_) width_ = nodes();
  ++level_;
}

void StaticTreePolicy::prune(DraftTree& tree) {
  place(tree);
  keep_.assign(1, DraftTree::kRoot);
  for (std::int32_t node = 1; node < tree.size() && static_cast<int>(keep_.size()) <= room_; ++node) {
    // Parents come first, so cutting by index keeps the tree closed.
    if (placed_[static_cast<std::size_t>(node)] != 0) keep_.push_back(node);
  }
  if (static_cast<std::int32_t>(keep_.size()) < tree.size()) tree.select(keep_);
}

namespace {

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
      throw Error(refused("speculative"),
                  "static tree '{}': speculation type '{}' ranks no candidates and cannot fill it", name_,
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

std::unique_ptr<PolicyModel> load_static_policy(const PolicySource& source) {
  std::string shape = source.arguments.limit(&SpeculationPlan::static_tree);
  if (shape.empty())
    throw Error(refused("speculative"),
                "policy static needs a tree: expected its name or file (tree=, --spec-tree)");
  TreePaths paths = load_tree_paths(shape);
  return std::make_unique<StaticModel>(std::move(shape), std::move(paths), chain_limits(source.arguments));
}

}  // namespace augur
