#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "model/config.h"
#include "model/model.h"
#include "model/state_walk.h"

namespace augur {

/// What one forward pass derives from its TokenBatch before it starts: where every row's key and value go and
/// which slots it sees. Reused from pass to pass, so that steady decoding does not allocate.
class BatchLayout {
 public:
  BatchLayout() { gather_.reserve(kUsualGather); }

  struct Sequence {
    const KvCache* cache = nullptr;
    int first_row = 0;
    int rows = 0;
    std::int64_t base = 0;   ///< length of the prefix
    bool gathers = false;    ///< some row sees slots that are not contiguous
    std::int64_t slots = 0;  ///< slots in use up to this forward's last row
    std::int64_t items = 0;  ///< of attention, per layer
    // Where layers keep states (kv_cache.h).
    std::int64_t fold_to = 0;
    std::int64_t first_record = 0;
    Range steps;          ///< of state_steps()
    Range rows_by_place;  ///< of place_rows_
  };

  /// Checks the batch (Error) and lays it out. `context`: positions are below it. `block`: see
  /// ForwardOptions.
  void build(const TokenBatch& batch, const ModelConfig& config, DType kv_type, std::int64_t context,
             std::span<const BlockMask> block = {});

  int rows() const { return static_cast<int>(slots_.size()); }
  std::int64_t max_position() const { return max_position_; }
  /// Every row of every sequence sees slots below it.
  std::int64_t max_slots() const { return max_slots_; }
  std::span<const Sequence> sequences() const { return sequences_; }
  std::int64_t slot(int row) const { return slots_[static_cast<std::size_t>(row)]; }
  const KvCache& cache_of(int row) const {
    return *sequences_[static_cast<std::size_t>(sequence_of_[static_cast<std::size_t>(row)])].cache;
  }
  std::span<const StateStep> state_steps(const Sequence& sequence) const {
    return std::span(steps_).subspan(static_cast<std::size_t>(sequence.steps.begin),
                                     static_cast<std::size_t>(sequence.steps.size()));
  }
  /// States that are put aside at once, at most.
  int aside() const { return aside_; }
  /// The row of the batch that a sequence has in a slot; -1: none.
  int row_in(const Sequence& sequence, std::int64_t slot) const;
  /// The slots of the tokens before a row, the nearest last, as many as the model's short convolutions see
  /// (their taps - 1); -1 where the text has no more.
  std::span<const std::int64_t> before(int row) const {
    const auto reach = static_cast<std::size_t>(reach_);
    return {before_.data() + static_cast<std::size_t>(row) * reach, reach};
  }
  /// A sequence's attention in one layer: who sees what, but for the layer's window. Not the q and out
  /// pointers, nor what is done with the scores.
  AttentionCall attention_call(const Sequence& sequence, int layer) const;
  /// The items of sequence `index` that `rank` of `size` threads computes, so that every thread sees about
  /// the same number of keys over all sequences.
  Range attention_share(std::size_t index, int rank, int size) const;

 private:
  /// Slots that the rows of a tree of 60 nodes gather: as many as they have ancestors.
  static constexpr std::size_t kUsualGather = 1024;

  /// What a row sees: slots [0, contiguous), then those of a gather list [begin, end).
  struct VisibleSlots {
    std::int64_t contiguous = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// What all rows see in some layers, as the attention wants it.
  struct VisibleByRow {
    BlockMask of;                            ///< in a pass over blocks
    std::vector<std::int64_t> contiguous;    ///< [rows]
    std::vector<std::int32_t> gather_begin;  ///< [rows + 1]
    std::vector<std::int32_t> gather;        ///< of blocks; trees have gather_
    std::vector<std::int64_t> skipped;  ///< [sequences] slots that count as slot 0: nobody sees earlier ones
  };
  void add_sequence(const TokenBatch& batch, const TokenBatch::Sequence& sequence);
  /// The steps of a sequence's state; its rows have slots.
  void add_state_steps(const TokenBatch& batch, const TokenBatch::Sequence& sequence, Sequence& entry);
  void lay_out_block(std::span<const BlockMask> block, const ModelConfig& config);
  void see_block(const BlockMask& mask, VisibleByRow& out) const;
  VisibleByRow& clear_visible(std::size_t index);
  /// Appends to `list` what comes before a row that follows the one in `slot`: row `parent` of `parents`; -1:
  /// the prefix.
  void add_before(std::int64_t slot, std::int64_t parent, const std::vector<std::int64_t>& parents,
                  std::vector<std::int64_t>& list) const;
  /// Appends to `list` what a row in `slot` gathers, given what its parent sees (of `parent_list`).
  static VisibleSlots see(std::int64_t slot, const VisibleSlots& parent,
                          const std::vector<std::int32_t>& parent_list, std::vector<std::int32_t>& list);

  int heads_ = 0;
  int attending_ = 0;  ///< a layer with attention
  int reach_ = 0;      ///< of before()
  std::int64_t max_position_ = 0;
  std::int64_t max_slots_ = 0;
  std::vector<Sequence> sequences_;
  std::vector<std::int64_t> costs_;           ///< [sequences + 1] attention cost before each sequence
  std::vector<int> sequence_of_;              ///< [rows]
  std::vector<std::int64_t> slots_;           ///< [rows]
  std::vector<VisibleSlots> visible_slots_;   ///< [rows]
  std::vector<std::int32_t> gather_;          ///< of visible_slots_
  std::vector<VisibleByRow> visible_by_row_;  ///< those in use come first
  std::vector<std::size_t> visible_in_;       ///< [layers] in a pass over blocks; empty: the first
  std::vector<VisibleSlots> earlier_;         ///< rows of earlier forwards of the sequence being added
  std::vector<std::int32_t> earlier_gather_;  ///< what they gather
  std::vector<std::int64_t> before_;          ///< [rows, reach]
  std::vector<std::int64_t> before_prefix_;   ///< [reach] likewise of a token that follows the prefix
  std::vector<std::int64_t> before_earlier_;  ///< [earlier rows, reach]
  bool states_ = false;                       ///< some layer keeps one
  int aside_ = 0;
  std::vector<StateStep> steps_;
  std::vector<std::int32_t> place_rows_;  ///< of each sequence, by place in its transaction: rows, or -1
  StateWalk walk_;
};

}  // namespace augur
