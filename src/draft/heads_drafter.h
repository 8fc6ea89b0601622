#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "draft/common/candidates.h"
#include "draft/common/sequence_rows.h"
#include "draft/drafter.h"
#include "draft/registry.h"
#include "model/layer_stack.h"
#include "model/linear.h"
#include "model/model.h"
#include "model/residual_mlp.h"
#include "vocab/vocabulary_head.h"

namespace augur {

/// Heads on the target's last hidden state, one for each depth, shared by the drafters of all sequences. Head
/// d gives the tokens that follow a node of depth d:
///   - from the state alone, whatever the node (Medusa);
///   - `grounded`: from the state and the embeddings of the root and of the path to the node (Hydra).
/// A head ends in an output matrix of its own, or in the target's (`shares_target_head`).
/// The state is the target's, after its final norm; with a `prefix` it has gone through another decoder layer
/// (over the states of all rows, each at its own position) and `prefix_norm` (Hydra++).
struct HeadsWeights {
  struct Head {
    ResidualMlp body;
    Linear output;  ///< unless the target's is shared
  };

  explicit HeadsWeights(Model& with)
      : target(with),
        taps{with.config().layers},
        waiting_states(std::make_shared<RowPool>(with.config().hidden)) {}

  Model& target;
  std::string name;
  bool grounded = false;
  bool shares_target_head = false;
  std::vector<Head> heads;            ///< by depth
  std::vector<VocabularyHead> exits;  ///< the same
  std::unique_ptr<LayerStack> prefix;
  std::vector<float> prefix_norm;
  std::vector<int> taps;
  std::shared_ptr<RowPool> waiting_states;  ///< of all texts, for the prefix layer

  Candidates candidates;
  std::vector<float> inputs;    ///< of the head that runs: [rows, its inputs]
  RowBatch batch;               ///< of the prefix layer
  std::vector<float> features;  ///< [batch's rows, hidden]
};

/// Drafts with HeadsWeights. Its state is one row; with a prefix layer, that layer's cache, too.
class HeadsDrafter final : public Drafter {
 public:
  HeadsDrafter(HeadsWeights& weights, std::int64_t context);

  std::string_view name() const override { return weights_.name; }
  DrafterTraits traits() const override { return {.max_depth = static_cast<int>(weights_.heads.size())}; }
  std::span<const int> tap_layers() const override { return weights_.taps; }
  void reset() override;
  SequenceRows* sequence_rows() override { return sequence_ ? &*sequence_ : nullptr; }
  std::int64_t root_rows() const override {
    return sequence_ ? std::max<std::int64_t>(1, sequence_->waiting()) : 1;
  }
  bool run_chunk() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  std::int64_t hidden() const { return weights_.target.config().hidden; }
  bool ready(const DraftTree& tree) const;
  void add_prefix_rows(std::int64_t count);
  void take_prefix_rows(const float* results);
  static void run_prefix(std::span<const ExpandJob> jobs);
  void add_nodes(const ExpandJob& job, std::size_t index, int depth);
  void append_input(const DraftTree& tree, std::int32_t node, int depth);

  HeadsWeights& weights_;
  std::int64_t length_ = 0;   ///< rows of the text that the target has run
  std::vector<float> state_;  ///< [hidden] state of the last of them, if no row waits
  /// with a prefix layer: rows of the target's states after its final norm
  std::optional<SequenceRows> sequence_;
  int first_row_ = 0;  ///< of the prefix layer's forward in flight
};

/// The shared part of a drafter type with these heads, which have been read. `vocabulary` may be null.
std::unique_ptr<DrafterModel> make_heads_model(std::unique_ptr<HeadsWeights> weights,
                                               const VocabularyChoice* vocabulary);

}  // namespace augur
