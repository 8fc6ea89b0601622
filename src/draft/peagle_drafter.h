#pragma once
#include <memory>
#include <span>
#include <vector>

#include "draft/common/text_rows.h"
#include "draft/drafter.h"
#include "draft/recurrent_drafter.h"

namespace augur {

/// A head, and the slots of its pass, shared by the drafters of all sequences.
struct PeagleWeights : RecurrentWeights {
  using RecurrentWeights::RecurrentWeights;
  std::vector<HeadRow> slots;  ///< of the pass in flight, over all jobs
};

/// P-EAGLE: an EAGLE-3 head that drafts all its levels in one pass a round. Behind the text's last row stand
/// placeholders, one for each further level, so a node's children depend on its depth only. The placeholders'
/// keys and values are dropped at once.
class PeagleDrafter final : public Drafter {
 public:
  PeagleDrafter(PeagleWeights& weights, std::int64_t context);

  std::string_view name() const override { return head().name(); }
  DrafterTraits traits() const override { return {.max_depth = head().shape().placeholders + 1}; }
  std::span<const int> tap_layers() const override { return head().shape().taps; }
  void reset() override;
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;
  void end_round() override;
  const void* group() const override { return &weights_; }
  void expand_many(std::span<const ExpandJob> jobs) override;

 private:
  /// What the pass gave for the children of nodes of one depth.
  struct Slot {
    std::vector<float> logits;
    std::vector<float> state;
  };
  const RecurrentHead& head() const { return weights_.forward.head(); }
  void add_root(const ExpandJob& job);
  void fill_slots();
  void take_slots();
  void offer(const ExpandJob& job, std::size_t index);

  PeagleWeights& weights_;
  TextRows text_;
  std::vector<Slot> slots_;     ///< by depth
  bool drafted_ = false;        ///< slots_ are this round's
  int first_row_ = 0;           ///< of the pass in flight: that of this drafter's first slot
  std::size_t first_slot_ = 0;  ///< the same among PeagleWeights::slots
};

/// The shared part of a drafter type that drafts with `head`, which has placeholders. `vocabulary` may be
/// null.
std::unique_ptr<DrafterModel> make_peagle_model(std::unique_ptr<RecurrentHead> head,
                                                const VocabularyChoice* vocabulary);

}  // namespace augur
