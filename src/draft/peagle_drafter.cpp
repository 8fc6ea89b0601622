#include "draft/peagle_drafter.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "draft/common/accepted_tokens.h"
#include "draft/common/sequence_rows.h"
#include "draft/drafter.h"
#include "draft/recurrent_drafter.h"

namespace augur {
namespace {

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
  SequenceRows* sequence_rows() override { return &sequence_; }
  std::int64_t root_rows() const override { return std::max<std::int64_t>(1, sequence_.waiting()); }
  bool run_chunk() override { return weights_.forward.run_chunk(sequence_); }
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
  void catch_up(const ExpandJob& job);
  void add_root(const ExpandJob& job);
  void fill_slots();
  void take_slots();
  void offer(const ExpandJob& job, std::size_t index);

  PeagleWeights& weights_;
  SequenceRows sequence_;
  std::vector<Slot> slots_;     ///< by depth
  bool drafted_ = false;        ///< slots_ are this round's
  int first_row_ = 0;           ///< of the pass in flight: that of this drafter's first slot
  std::size_t first_slot_ = 0;  ///< the same among PeagleWeights::slots
};

PeagleDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<PeagleDrafter&>(*job.drafter);
}

PeagleDrafter::PeagleDrafter(PeagleWeights& weights, std::int64_t context)
    : weights_(weights),
      sequence_(weights.forward.head().make_cache(context), weights.forward.features()),
      slots_(static_cast<std::size_t>(head().shape().placeholders) + 1) {}

void PeagleDrafter::reset() {
  end_round();
  sequence_.reset();
}

void PeagleDrafter::end_round() {
  sequence_.roll_back();
  drafted_ = false;
}

void PeagleDrafter::sync(const AcceptedRows& rows) {
  end_round();
  if (rows.teaches_all) weights_.exit.saw(rows.tokens.subspan(known_rows(rows, sequence_.length())));
  weights_.forward.take_accepted(sequence_, rows);
}

void PeagleDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                           const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

/// Of a long prompt that waits only the last rows are left to the pass.
void PeagleDrafter::catch_up(const ExpandJob& job) {
  sequence_.roll_back();  // of a forward that failed
  if (job.frontier.empty() || job.frontier.front() != DraftTree::kRoot || job.options.max_nodes <= 0) return;
  if (sequence_.cache().room() < sequence_.waiting() + head().shape().placeholders) return;
  while (run_chunk()) {
  }
}

/// Adds the rows that wait, and the placeholders. Nothing when the head has no state to start from (a text of
/// one token) or no room left.
void PeagleDrafter::add_root(const ExpandJob& job) {
  PeagleWeights& w = weights_;
  end_round();  // it may have drafted from this root before
  if (job.tree->root_position() == 0 || sequence_.length() != job.tree->root_position()) return;
  if (sequence_.waiting() == 0) sequence_.rewind();
  const std::int64_t waiting = sequence_.waiting();
  if (sequence_.cache().room() < waiting + head().shape().placeholders) return;
  first_row_ = w.forward.add_waiting(sequence_, waiting, true) + static_cast<int>(waiting) - 1;
  first_slot_ = w.slots.size();
  for (int depth = 0; depth < std::ssize(slots_); ++depth) {
    w.slots.push_back({.token = w.forward.batch().token(first_row_ + depth),
                       .step = depth,
                       .sequence = static_cast<int>(first_slot_)});
  }
}

void PeagleDrafter::fill_slots() {
  if (sequence_.in_flight() == 0) return;
  for (int depth = 0; depth < std::ssize(slots_); ++depth) {
    weights_.forward.fill(weights_.slots[first_slot_ + static_cast<std::size_t>(depth)], first_row_ + depth);
  }
}

void PeagleDrafter::take_slots() {
  if (sequence_.in_flight() == 0) return;
  sequence_.commit();
  drafted_ = true;
  for (std::size_t depth = 0; depth < slots_.size(); ++depth) {
    const std::span<const float> logits = weights_.exit.logits(first_slot_ + depth);
    slots_[depth].logits.assign(logits.begin(), logits.end());
    const std::span<const float> state = weights_.forward.results(first_row_ + static_cast<int>(depth));
    slots_[depth].state.assign(state.begin(), state.end());
  }
}

void PeagleDrafter::offer(const ExpandJob& job, std::size_t index) {
  if (!drafted_) return;
  for (const std::int32_t node : job.frontier) {
    const auto depth = static_cast<std::size_t>(job.tree->depths()[static_cast<std::size_t>(node)]);
    if (depth >= slots_.size()) continue;
    weights_.candidates.offer(index, node, slots_[depth].logits, slots_[depth].state);
  }
}

void PeagleDrafter::expand_many(std::span<const ExpandJob> jobs) {
  PeagleWeights& w = weights_;
  for (const ExpandJob& job : jobs) drafter_of(job).catch_up(job);
  w.forward.clear();
  w.slots.clear();
  for (const ExpandJob& job : jobs) {
    if (job.frontier.empty() || job.options.max_nodes <= 0) continue;
    if (job.frontier.front() == DraftTree::kRoot) drafter_of(job).add_root(job);
  }
  if (!w.forward.empty()) {
    w.forward.run();
    for (const ExpandJob& job : jobs) drafter_of(job).fill_slots();
    w.exit.run(w.slots);
    for (const ExpandJob& job : jobs) drafter_of(job).take_slots();
  }
  w.candidates.begin(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) drafter_of(jobs[i]).offer(jobs[i], i);
  w.candidates.add_children(head().backend(), w.exit.target_ids());
}

class PeagleModel final : public DrafterModel {
 public:
  PeagleModel(std::unique_ptr<RecurrentHead> head, const VocabularyChoice* vocabulary)
      : weights_(std::make_unique<PeagleWeights>(std::move(head), vocabulary)) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<PeagleDrafter>(*weights_, settings.context);
  }
  void forget_learnt() override { weights_->exit.forget(); }

 private:
  std::unique_ptr<PeagleWeights> weights_;
};

}  // namespace

std::unique_ptr<DrafterModel> make_peagle_model(std::unique_ptr<RecurrentHead> head,
                                                const VocabularyChoice* vocabulary) {
  if (vocabulary != nullptr && vocabulary->dynamic()) {
    throw Error(
        refused("draft_vocabulary"),
        "draft vocabulary: {} with placeholders keeps the logits of one pass for all depths, and clusters "
        "change from pass to pass; use frspec, pafr or hot",
        head->name());
  }
  return std::make_unique<PeagleModel>(std::move(head), vocabulary);
}

}  // namespace augur
