#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "policy/registry.h"
#include "support/policy_plan.h"

namespace augur::testing_support {

using Path = std::vector<TokenId>;

inline Path path_of(const DraftTree& tree, std::int32_t node) {
  Path path;
  for (; node != DraftTree::kRoot; node = tree.parents()[static_cast<std::size_t>(node)]) {
    path.push_back(tree.tokens()[static_cast<std::size_t>(node)]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

/// A drafter whose law after a path is a function of the path and a seed: children with falling
/// probabilities, an entropy, and a hidden state, none of which depend on one another.
struct RandomLaw {
  unsigned seed = 0;
  int children = 6;
  std::size_t width = 8;

  struct After {
    std::vector<std::pair<TokenId, float>> children;  ///< token, log-probability, best first
    float entropy = 0;
    std::vector<float> hidden;
  };
  After after(const Path& path) const {
    unsigned hash = seed * 2654435761u + 12345u;
    for (const TokenId token : path) hash = (hash ^ static_cast<unsigned>(token + 1)) * 2246822519u + 1u;
    std::mt19937 random(hash);
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    After out;
    for (int i = 0; i < children; ++i)
      out.children.emplace_back(i, std::log(0.05f + 0.95f * uniform(random)));
    std::stable_sort(out.children.begin(), out.children.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    out.entropy = 2.0f * uniform(random);
    for (std::size_t i = 0; i < width; ++i) out.hidden.push_back(2.0f * uniform(random) - 1.0f);
    return out;
  }
};

/// A round: the policy drafts with the law, then prunes, unless told not to. Returns the expansions.
inline int draft(TreePolicy& policy, const RoundInfo& round, DraftTree& tree, const RandomLaw& law,
                 bool prune = true) {
  const NodeWants wants = policy.wants();
  policy.begin(round);
  std::vector<std::int32_t> frontier;
  int expansions = 0;
  for (policy.next_frontier(tree, frontier); !frontier.empty(); policy.next_frontier(tree, frontier)) {
    for (const std::int32_t node : frontier) {
      const RandomLaw::After after = law.after(path_of(tree, node));
      if (wants.entropy) tree.set_entropy(node, after.entropy);
      if (wants.top_k > 0) tree.set_top_entropy(node, after.entropy);
      if (wants.hidden) {
        std::copy(after.hidden.begin(), after.hidden.end(),
                  tree.make_hidden(node, after.hidden.size()).begin());
      }
      const std::size_t count =
          std::min(after.children.size(), static_cast<std::size_t>(policy.branches() ? policy.width() : 1));
      for (std::size_t i = 0; i < count; ++i) {
        tree.add(node, after.children[i].first, after.children[i].second, 1);
      }
      ++expansions;
    }
  }
  if (prune) policy.prune(tree);
  return expansions;
}

inline std::unique_ptr<TreePolicy> make_policy(const std::string& text, const DrafterTraits& traits = {}) {
  const std::unique_ptr<PolicyModel> model = load_policy(testing_support::policy_plan(text));
  return model->make({"test", traits});
}

inline const RoundInfo kRoomy{.room = 10000, .max_depth = 10000};

}  // namespace augur::testing_support
