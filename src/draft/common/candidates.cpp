#include "draft/common/candidates.h"

#include <algorithm>
#include <cassert>

#include "base/elementary.h"

namespace augur {
namespace {

/// So many of a row's largest logits are all that the jobs' children need; 0: one of them needs all of the
/// logits (for the target's noise, its penalties, what may follow, for draws or entropies).
int best_wanted(std::span<const ExpandJob> jobs) {
  int most = 0;
  for (const ExpandJob& job : jobs) {
    const ExpandOptions& o = job.options;
    if (o.masks != nullptr || o.sample || o.wants.entropy || o.wants.top_k > 0) return 0;
    if (o.coupled) {
      const SamplingOptions& params = o.sampler->params();
      if (!greedy(params) || penalises(params) || !params.logit_bias.empty()) return 0;
    }
    most = std::max(most, std::min(o.top_k, o.max_nodes));
  }
  return most;
}

/// The drafter's probability that the text goes through the node.
float path_weight(const DraftTree& tree, std::int32_t node) {
  // Not the scores: policies overwrite them.
  float sum = 0.0f;
  for (std::int32_t n = node; n != DraftTree::kRoot; n = tree.parents()[static_cast<std::size_t>(n)]) {
    sum += tree.log_probs()[static_cast<std::size_t>(n)];
  }
  return static_cast<float>(elementary::exp(sum));
}

}  // namespace

void Candidates::begin(std::span<const ExpandJob> jobs) {
  jobs_ = jobs;
  left_.clear();
  for (const ExpandJob& job : jobs) left_.push_back(job.options.max_nodes);
  nodes_.clear();
  job_of_.clear();
  head_row_of_.clear();
  head_rows_.clear();
  rows_.clear();
}

bool Candidates::add_node(std::size_t job, std::int32_t node) {
  const ExpandOptions& options = jobs_[job].options;
  const int count = std::min(options.top_k, left_[job]);
  if (count <= 0) return false;
  left_[job] -= count;
  nodes_.push_back({.tree = jobs_[job].tree, .node = node, .options = &options, .count = count});
  job_of_.push_back(job);
  return true;
}

bool Candidates::want(std::size_t job, std::int32_t node, int row) {
  if (!add_node(job, node)) return false;
  const DraftTree& tree = *jobs_[job].tree;
  const auto index = static_cast<std::size_t>(node);
  head_row_of_.push_back(head_rows_.size());
  head_rows_.push_back({.token = tree.tokens()[index],
                        .step = tree.depths()[index],
                        .sequence = static_cast<int>(job),
                        .weight = path_weight(tree, node)});
  rows_.push_back(row);
  return true;
}

bool Candidates::want_same(std::size_t job, std::int32_t node) {
  assert(!head_rows_.empty());
  if (!add_node(job, node)) return false;
  head_row_of_.push_back(head_rows_.size() - 1);
  return true;
}

bool Candidates::offer(std::size_t job, std::int32_t node, std::span<const float> logits,
                       std::span<const float> state) {
  if (!add_node(job, node)) return false;
  nodes_.back().logits = logits;
  nodes_.back().state = state;
  return true;
}

void Candidates::add_children(VocabularyHead& head) {
  assert(head_row_of_.size() == nodes_.size());
  if (nodes_.empty()) return;
  const int best = best_wanted(jobs_);
  head.run(head_rows_, best);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (best > 0) {
      nodes_[i].best = &head.best(head_row_of_[i]);
    } else {
      nodes_[i].logits = head.logits(head_row_of_[i]);
    }
  }
  add_children(head.weights().device->host(), head.target_ids());
}

void Candidates::add_children(Backend& backend, std::span<const TokenId> target_ids) {
  chooser_.add_children(backend.pool, nodes_, target_ids);
  nodes_.clear();
  job_of_.clear();
  head_row_of_.clear();
  head_rows_.clear();
  rows_.clear();
}

}  // namespace augur
