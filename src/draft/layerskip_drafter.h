#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "draft/child_chooser.h"
#include "draft/drafter.h"
#include "draft/mlp_head.h"
#include "model/model.h"
#include "vocab/vocabulary_head.h"

namespace augur {

class DrafterModel;
struct DrafterSource;

/// The target, and the rows of the early exits of all sequences.
struct LayerSkipShared {
  explicit LayerSkipShared(Model& with)
      : target(with), groups(static_cast<std::size_t>(with.config().layers) + 1) {}

  Model& target;
  int exit_layer = 0;  ///< unless a sequence has its own
  /// Residual blocks between the exit and the norm; none: as published. For `exit_layer` only.
  std::optional<MlpHead> adapter;
  std::vector<char> groups;  ///< by exit layer: sequences with the same one run together

  // One forward's rows, over all jobs.
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;
  std::vector<TokenBatch::Sequence> sequences;
  std::vector<NodeLogits> nodes;
  std::vector<float> states;       ///< [nodes, hidden] after the final norm, where they are wanted
  std::vector<HeadRow> head_rows;  ///< by node
  VocabularyHead head;
  ChildChooser chooser;
};

/// LayerSkip's self-speculation (Elhoushi et al., 2024): the target's first layers, its norm and its head,
/// and between them an adapter where one was trained (a target that was not trained to exit early needs one).
/// There is no draft cache: the rows of the tree, the root's included, are written to the early layers of the
/// target's own, and handed on to verification, which has only the other layers left to run for them.
class LayerSkipDrafter final : public Drafter {
 public:
  LayerSkipDrafter(LayerSkipShared& shared, int exit_layer) : shared_(shared), exit_(exit_layer) {}

  std::string_view name() const override { return "layerskip"; }
  void reset() override { end_round(); }
  void sync(const AcceptedRows& rows) override { shared_.head.saw(rows.tokens); }
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  std::optional<EarlyRows> take_early_rows() override;
  void end_round() override { txn_.reset(); }
  const void* group() const override { return &shared_.groups[static_cast<std::size_t>(exit_)]; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  void begin_round();
  void add_rows(const ExpandJob& job);
  void add_path(const DraftTree& tree, std::int32_t node);
  bool has_run(std::int32_t node) const { return row_of_node_[static_cast<std::size_t>(node)] >= 0; }

  LayerSkipShared& shared_;
  int exit_;
  std::optional<KvTxn> txn_;               ///< rows of this round's tree
  std::vector<TokenId> tokens_;            ///< of its rows
  std::vector<std::int32_t> parents_;      ///< their parents, as rows of it; -1: the root's
  std::vector<float> hidden_;              ///< [rows, hidden] what came out of the early layers
  std::vector<std::int32_t> row_of_node_;  ///< by tree node; -1: not run
  std::vector<std::int32_t> missing_;      ///< scratch: a node and its ancestors that have not run
  // The forward in flight.
  int first_row_ = 0;  ///< of the batch
  int earlier_ = 0;    ///< rows of the transaction before it
  int rows_ = 0;
};

std::unique_ptr<DrafterModel> load_layerskip_drafter(const DrafterSource& source);

}  // namespace augur
