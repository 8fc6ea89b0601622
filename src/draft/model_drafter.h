#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "draft/child_chooser.h"
#include "draft/drafter.h"
#include "model/model.h"
#include "vocab/vocabulary_head.h"

namespace augur {

class DrafterModel;
struct DrafterSource;

/// Throws the Error that names both models when their tokenizers differ in size or in any token.
void require_same_vocabulary(const Tokenizer& target, const std::string& target_path, const Tokenizer& draft,
                             const std::string& draft_path);

/// A draft model's weights and the buffers of its forwards, shared by the drafters of all sequences.
struct DraftWeights {
  std::unique_ptr<Model> model;
  std::int64_t context = 0;

  // One forward's rows, over all jobs.
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> parents;
  std::vector<TokenBatch::Sequence> sequences;
  std::vector<HeadRow> head_rows;  ///< whose logits are wanted
  std::vector<int> result_rows;    ///< of the forward, by row of head_rows
  VocabularyHead head;
  std::vector<NodeLogits> rows_with_logits;
  std::vector<float> states;  ///< [head_rows, hidden] after the final norm, where a job wants them
  ChildChooser chooser;
};

/// A smaller model of the same vocabulary. Its cache holds the text; every round the accepted tokens and the
/// new root run in one forward and are kept, then each level of the tree runs in a transaction that is rolled
/// back at the end of the round.
class ModelDrafter final : public Drafter {
 public:
  ModelDrafter(DraftWeights& weights, std::int64_t context);

  std::string_view name() const override { return "draft"; }
  void reset() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  struct Part {
    int first_row = 0;
    int rows = 0;
    int first_logit = 0;
    bool root = false;
  };
  Part add_root_rows(const ExpandJob& job);
  Part add_level_rows(const ExpandJob& job);
  void want_logits(int row, const DraftTree& tree, std::int32_t node);
  void catch_up(std::size_t leave);

  DraftWeights& weights_;
  KvCache cache_;
  std::vector<TokenId> pending_;  ///< accepted tokens that follow the cache's
  bool unusable_ = false;         ///< the text holds a token that the draft model does not know

  std::optional<KvTxn> level_;               ///< rows of this round's tree
  std::vector<std::int32_t> level_parents_;  ///< rows written to it so far, and their parents
  std::vector<std::int32_t> row_of_node_;    ///< by tree node; -1: not run
  std::vector<std::int32_t> expanded_;       ///< nodes whose logits the forward in flight yields, in order
  std::vector<Part> parts_;                  ///< of the jobs of a forward that this drafter runs
  std::vector<std::int32_t> missing_;        ///< scratch: ancestors to run first
};

std::unique_ptr<DrafterModel> load_model_drafter(const DrafterSource& source);

}  // namespace augur
