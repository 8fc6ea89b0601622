#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "draft/common/candidates.h"
#include "draft/common/row_batch.h"
#include "draft/common/tree_rows.h"
#include "draft/drafter.h"
#include "model/model.h"
#include "model/residual_mlp.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// The target, and data that the early exits of all sequences share.
struct LayerSkipShared {
  explicit LayerSkipShared(Model& with)
      : target(with), groups(static_cast<std::size_t>(with.config().layers) + 1) {}

  Model& target;
  int exit_layer = 0;  ///< unless a sequence has its own
  /// Residual blocks between the exit and the norm; none: as published. For `exit_layer` only.
  std::optional<ResidualMlp> adapter;
  std::vector<char> groups;  ///< by exit layer: sequences with the same one run together
  VocabularyHead head;

  RowBatch batch;
  Candidates candidates;
  std::vector<float> states;  ///< [candidates, hidden] after the final norm, where they are wanted
};

/// LayerSkip's self-speculation (Elhoushi et al., 2024): drafts with the target's first layers, its norm and
/// its head, and an adapter between them if one was trained (a target that was not trained for early exit
/// needs one). There is no draft cache: the rows of the tree, including the root's, are written to the early
/// layers of the target's cache and passed to verification, which then runs only the remaining layers for
/// them.
class LayerSkipDrafter final : public Drafter {
 public:
  LayerSkipDrafter(LayerSkipShared& shared, int exit_layer);

  std::string_view name() const override { return "layerskip"; }
  void reset() override { end_round(); }
  void sync(const AcceptedRows& rows) override {
    if (rows.teaches_all) shared_.head.saw(rows.tokens);
  }
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  std::optional<EarlyRows> take_early_rows() override;
  void end_round() override;
  const void* group() const override { return &shared_.groups[static_cast<std::size_t>(exit_)]; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  void add_rows(const ExpandJob& job, std::size_t index);

  LayerSkipShared& shared_;
  int exit_;
  TreeRows tree_;
  std::vector<float> hidden_;  ///< [tree_'s rows, hidden] output of the early layers
  int first_row_ = 0;          ///< of the forward in flight: this drafter's
  int rows_ = 0;
};

}  // namespace augur
