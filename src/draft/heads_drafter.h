#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "draft/child_budget.h"
#include "draft/child_chooser.h"
#include "draft/drafter.h"
#include "draft/mlp_head.h"
#include "draft/registry.h"
#include "model/layer_stack.h"
#include "model/model.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// Heads on the target's last hidden state, one for each depth, and the rows of their runs, shared by the
/// drafters of all sequences. Head d gives the tokens that follow a node of depth d:
///   - from the state alone, whatever the node (Medusa);
///   - `grounded`: from the state and the embeddings of the root and of the path to the node (Hydra).
/// A head ends in an output matrix of its own, or in the target's (`shares_target_head`).
/// The state is the target's, after its final norm; with a `prefix` it has gone through another decoder layer
/// (over the states of all rows, each at its own position) and `prefix_norm` (Hydra++).
struct HeadsWeights {
  explicit HeadsWeights(Model& with) : target(with), taps{with.config().layers} {}

  Model& target;
  std::string name;
  bool grounded = false;
  bool shares_target_head = false;
  std::vector<MlpHead> heads;
  std::vector<VocabularyHead> exits;  ///< by head
  std::unique_ptr<LayerStack> prefix;
  std::vector<float> prefix_norm;
  std::vector<int> taps;

  // The run in flight, over all jobs.
  struct Row {
    std::size_t job;
    std::int32_t node;
    int input;  ///< row of the inputs
    int count;  ///< children
  };
  std::vector<Row> rows;
  std::vector<float> inputs;
  std::vector<HeadRow> head_rows;  ///< by row of the inputs
  std::vector<NodeLogits> nodes;
  std::vector<ChildBudget> budgets;  ///< by job
  ChildChooser chooser;

  // The same for the prefix layer.
  std::vector<TokenId> tokens;
  std::vector<float> features;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;
  std::vector<TokenBatch::Sequence> sequences;
};

/// Drafts with HeadsWeights. Its state is one row; with a prefix layer, that layer's cache, too.
class HeadsDrafter final : public Drafter {
 public:
  HeadsDrafter(HeadsWeights& weights, std::int64_t context);

  std::string_view name() const override { return weights_.name; }
  DrafterTraits traits() const override { return {.max_depth = static_cast<int>(weights_.heads.size())}; }
  std::span<const int> tap_layers() const override { return weights_.taps; }
  void reset() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  std::int64_t hidden() const { return weights_.target.config().hidden; }
  std::int64_t waiting() const { return std::ssize(pending_) / hidden(); }
  bool ready(const DraftTree& tree) const;
  static void run_prefix(std::span<const ExpandJob> jobs);
  void run_prefix_chunk();
  void add_prefix_rows(std::int64_t count);
  void take_prefix_rows(const float* last, std::int64_t count);
  void collect_rows(std::span<const ExpandJob> jobs, int depth);
  void append_input(const DraftTree& tree, std::int32_t node, int depth);

  HeadsWeights& weights_;
  std::int64_t rows_ = 0;     ///< of the text that the target has run
  std::vector<float> state_;  ///< of the last of them, once nothing is pending. [hidden]

  // With a prefix layer.
  std::optional<KvCache> cache_;
  std::vector<float> pending_;  ///< [rows, hidden] states that the layer has not seen
  std::optional<KvTxn> txn_;    ///< of the forward in flight
  int first_row_ = 0;
};

/// The shared part of a drafter type that drafts with such heads, which have been read. `vocabulary` may be
/// null.
std::unique_ptr<DrafterModel> make_heads_model(std::unique_ptr<HeadsWeights> weights,
                                               const VocabularyChoice* vocabulary);

}  // namespace augur
