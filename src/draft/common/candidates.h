#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "draft/common/child_chooser.h"
#include "draft/drafter.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// The last step of every expansion by a model or head: from the nodes that are expanded to their children.
///   1. begin();
///   2. want() for every node, by the row of the forward pass that its children follow from;
///   3. after the pass each of head_rows() gets its state, and states for NodeWants::hidden go to
///   set_state();
///   4. add_children() computes the logits and ranks them.
/// Drafters that have logits already offer() them, and rank them with add_children(backend, ids).
/// One thread at a time.
class Candidates {
 public:
  /// Starts an expansion of jobs of one group. `jobs` must stay valid until add_children() returns.
  void begin(std::span<const ExpandJob> jobs);

  /// Asks for children of `node` of job `job`, predicted from row `row` of the pass; all nodes of a job must
  /// be added consecutively. Returns false and does nothing if the children of the job's other nodes use up
  /// ExpandOptions::max_nodes.
  bool want(std::size_t job, std::int32_t node, int row);
  /// The same, with the row of the node before.
  bool want_same(std::size_t job, std::int32_t node);
  /// Asks for children of the node, predicted from `logits` over the draft vocabulary. `state`: the drafter's
  /// hidden state at the node; may be empty. Both must stay valid until add_children() returns.
  bool offer(std::size_t job, std::int32_t node, std::span<const float> logits, std::span<const float> state);

  bool empty() const { return nodes_.empty(); }
  std::span<const int> rows() const { return rows_; }  // rows of the forward pass, as passed to want()
  /// Input of the vocabulary head, one per row; the caller sets state and previous, the rest is filled in.
  std::span<HeadRow> head_rows() { return head_rows_; }

  std::size_t size() const { return nodes_.size(); }
  const ExpandJob& job(std::size_t index) const { return jobs_[job_of_[index]]; }
  std::span<NodeLogits> nodes() { return nodes_; }
  bool wants_state(std::size_t index) const { return nodes_[index].options->wants.hidden; }
  /// Sets the drafter's hidden state at a node, where it is wanted. `index` counts nodes in the order of
  /// want().
  void set_state(std::size_t index, std::span<const float> state) { nodes_[index].state = state; }
  /// Removes offered nodes for which keep(index) is false; they get no children.
  template <class Keep>
  void filter(const Keep& keep);

  /// Projects the head rows and adds children to the nodes' trees. The list of nodes is empty then, but what
  /// they used of their jobs' max_nodes stays used.
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
