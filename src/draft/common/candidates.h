#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "draft/common/child_chooser.h"
#include "draft/drafter.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// The last part of every expansion by a model or head: from the nodes that are expanded to their children.
///   1. begin();
///   2. want() for every node, by the row of the forward pass that its children follow from;
///   3. after the pass each of head_rows() gets its state, and states for NodeWants::hidden go to
///   set_state();
///   4. add_children() computes the logits and ranks them.
/// Drafters that have logits already offer() them, and rank them with add_children(backend, ids).
/// One thread at a time.
class Candidates {
 public:
  /// An expansion of jobs of one group. They stay where they are until their children are there.
  void begin(std::span<const ExpandJob> jobs);

  /// Children of `node` of job `job` are to follow from row `row`; nodes of a job come one after the other.
  /// False, and nothing else, once the children of the job's other nodes use up ExpandOptions::max_nodes.
  bool want(std::size_t job, std::int32_t node, int row);
  /// The same, from the row of the node before.
  bool want_same(std::size_t job, std::int32_t node);
  /// Children of the node are to follow from `logits` over the draft vocabulary. `state`: the drafter's
  /// hidden state there; may be empty. Both stay until the children are there.
  bool offer(std::size_t job, std::int32_t node, std::span<const float> logits, std::span<const float> state);

  bool empty() const { return nodes_.empty(); }
  std::span<const int> rows() const { return rows_; }  ///< of the forward pass, as want() was told
  /// What the vocabulary head gets, by row; all but state and previous is filled in.
  std::span<HeadRow> head_rows() { return head_rows_; }

  std::size_t size() const { return nodes_.size(); }
  const ExpandJob& job(std::size_t index) const { return jobs_[job_of_[index]]; }
  std::span<NodeLogits> nodes() { return nodes_; }
  bool wants_state(std::size_t index) const { return nodes_[index].options->wants.hidden; }
  /// By number of the node, in the order of want(): the drafter's hidden state there, where it is wanted.
  void set_state(std::size_t index, std::span<const float> state) { nodes_[index].state = state; }
  /// Of nodes that were offered those for which keep(index) is false get no children.
  template <class Keep>
  void filter(const Keep& keep);

  /// Projects the head rows, and adds the nodes' children to their trees. The nodes are then gone, not what
  /// they have used of their jobs' max_nodes.
  void add_children(VocabularyHead& head);
  /// The same for nodes whose logits were offered. `target_ids`: the target's token of each; empty: the same.
  void add_children(Backend& backend, std::span<const TokenId> target_ids);

 private:
  bool add_node(std::size_t job, std::int32_t node);

  std::span<const ExpandJob> jobs_;
  std::vector<int> left_;  ///< by job: nodes that may still be added
  std::vector<NodeLogits> nodes_;
  std::vector<std::size_t> job_of_;       ///< by node
  std::vector<std::size_t> head_row_of_;  ///< by node that was wanted
  std::vector<HeadRow> head_rows_;
  std::vector<int> rows_;  ///< by head row
  ChildChooser chooser_;
};

template <class Keep>
void Candidates::filter(const Keep& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!keep(i)) continue;
    nodes_[kept] = nodes_[i];
    job_of_[kept++] = job_of_[i];
  }
  nodes_.resize(kept);
  job_of_.resize(kept);
}

}  // namespace augur
