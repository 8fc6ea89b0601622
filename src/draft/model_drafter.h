#pragma once
#include <memory>
#include <string>
#include <vector>

#include "draft/common/candidates.h"
#include "draft/common/row_batch.h"
#include "draft/common/sequence_rows.h"
#include "draft/common/tree_rows.h"
#include "draft/drafter.h"
#include "model/model.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// Throws the Error that names both models when their tokenizers differ in size or in any token.
void require_same_vocabulary(const Tokenizer& target, const std::string& target_path, const Tokenizer& draft,
                             const std::string& draft_path);

/// A draft model, shared by the drafters of all sequences.
struct DraftWeights {
  std::unique_ptr<Model> model;
  std::int64_t context = 0;
  VocabularyHead head;

  RowBatch batch;
  Candidates candidates;
  std::vector<float> states;  ///< [candidates, hidden] after the final norm, where they are wanted
};

/// A smaller model of the same vocabulary. Its cache holds the text; every round the accepted tokens and the
/// new root run in one forward and are kept, then each level of the tree runs in another.
class ModelDrafter final : public Drafter {
 public:
  ModelDrafter(DraftWeights& weights, std::int64_t context);

  std::string_view name() const override { return "draft"; }
  void reset() override;
  SequenceRows* sequence_rows() override { return &sequence_; }
  std::int64_t root_rows() const override { return sequence_.waiting() + 1; }
  bool run_chunk() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  void catch_up();
  void add_root(const ExpandJob& job, std::size_t index);
  void add_level(const ExpandJob& job, std::size_t index);

  DraftWeights& weights_;
  SequenceRows sequence_;
  TreeRows tree_;
  bool unusable_ = false;  ///< the text holds a token that the draft model does not know
};

}  // namespace augur
