#include "draft/expansion.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/index.h"

namespace augur {
namespace {

/// Of the children of `parent`, which all are new.
std::string_view broken_by_children(const ExpandJob& job, const DrafterTraits& traits, std::int32_t parent) {
  const DraftTree& tree = *job.tree;
  const std::span<const float> q = tree.q(parent);
  const bool drawn = job.options.sample && traits.has_probabilities;
  int children = 0;
  float worst = 0;
  for (std::int32_t c = tree.first_child(parent); c >= 0; c = tree.next_sibling(c)) {
    const float log_prob = tree.log_probs()[at(c)];
    if (++children > job.options.top_k) return "more than top_k children";
    if (!std::isfinite(log_prob) || log_prob > 0) return "a log_prob that is none";
    if (!drawn && log_prob > worst && children > 1) return "a better child behind a worse one";
    if (drawn && (q.empty() || !(q[at(tree.tokens()[at(c)])] > 0))) return "a child that its q does not hold";
    worst = log_prob;
  }
  if (children > 1 && traits.one_shot && !(traits.branching && job.options.branching)) {
    return "several branches where one was asked for";
  }
  return {};
}

}  // namespace

std::string_view broken_promise(const ExpandJob& job, const DrafterTraits& traits, std::int32_t first,
                                std::int32_t vocab) {
  const DraftTree& tree = *job.tree;
  const std::int32_t added = tree.size() - first;
  if (added > job.options.max_nodes) return "more than max_nodes";
  if (traits.one_shot && added > job.options.top_k) return "more than top_k tokens of a branch";
  for (std::int32_t node = first; node < tree.size(); ++node) {
    const std::int32_t parent = tree.parents()[at(node)];
    const bool asked = std::find(job.frontier.begin(), job.frontier.end(), parent) != job.frontier.end();
    const bool of_its_branch = traits.one_shot && parent >= first;
    if (!asked && !of_its_branch) return "a child of a node that was not to be expanded";
    if (tree.depths()[at(node)] > traits.max_depth) return "a node deeper than its max_depth";
    if (tree.tokens()[at(node)] < 0 || tree.tokens()[at(node)] >= vocab)
      return "a token outside the vocabulary";
    if (tree.proposers()[at(node)] != job.options.proposer) return "another proposer";
    // Every parent once, by its first child.
    if (tree.first_child(parent) != node) continue;
    if (const std::string_view broken = broken_by_children(job, traits, parent); !broken.empty())
      return broken;
  }
  return {};
}

}  // namespace augur
