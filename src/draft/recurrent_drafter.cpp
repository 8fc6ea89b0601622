#include "draft/recurrent_drafter.h"

#include <utility>

#include "draft/common/accepted_tokens.h"
#include "draft/peagle_drafter.h"

namespace augur {
namespace {

/// Rows that one round's levels may take.
constexpr std::int64_t kLevelRows = 4096;

RecurrentDrafter& drafter_of(const ExpandJob& job) {
  return static_cast<RecurrentDrafter&>(*job.drafter);
}

}  // namespace

RecurrentWeights::RecurrentWeights(std::unique_ptr<RecurrentHead> head, const VocabularyChoice* vocabulary)
    : forward(std::move(head)) {
  HeadWeights weights = forward.head().exit();
  weights.target_ids = forward.head().shape().target_ids;
  weights.usable = forward.head().shape().vocab;
  exit = VocabularyHead(weights, vocabulary);
}

RecurrentDrafter::RecurrentDrafter(RecurrentWeights& weights, std::int64_t context)
    : weights_(weights),
      sequence_(weights.forward.head().make_cache(context), weights.forward.features()),
      tree_(kLevelRows) {}

void RecurrentDrafter::reset() {
  end_round();
  sequence_.reset();
}

void RecurrentDrafter::end_round() {
  sequence_.roll_back();
  tree_.clear();
  root_state_.clear();
  level_states_.clear();
}

void RecurrentDrafter::sync(const AcceptedRows& rows) {
  end_round();
  if (rows.teaches_all) weights_.exit.saw(rows.tokens.subspan(known_rows(rows, sequence_.length())));
  weights_.forward.take_accepted(sequence_, rows);
}

void RecurrentDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                              const ExpandOptions& options) {
  const ExpandJob job{this, &tree, frontier, options};
  expand_many({&job, 1});
}

/// Of a long prompt that waits only the last rows are left to the round's forward.
void RecurrentDrafter::catch_up(const ExpandJob& job) {
  sequence_.roll_back();  // of a forward that failed
  if (job.frontier.empty() || job.frontier.front() != DraftTree::kRoot || job.options.max_nodes <= 0) return;
  end_round();  // it may have drafted from this root before
  if (sequence_.cache().room() < sequence_.waiting()) return;
  while (run_chunk()) {
  }
}

/// Adds the rows that wait; the last of them is about the root's children. Nothing when the head has no state
/// to start from (a text of one token) or no room left.
void RecurrentDrafter::add_root(const ExpandJob& job, std::size_t index) {
  RecurrentWeights& w = weights_;
  if (job.tree->root_position() == 0 || sequence_.length() != job.tree->root_position()) return;
  if (sequence_.waiting() == 0) sequence_.rewind();
  if (sequence_.cache().room() < sequence_.waiting()) return;
  rows_ = static_cast<int>(sequence_.waiting());
  first_row_ = w.forward.add_waiting(sequence_, rows_);
  w.candidates.want(index, DraftTree::kRoot, first_row_ + rows_ - 1);
}

void RecurrentDrafter::add_level(const ExpandJob& job, std::size_t index) {
  RecurrentWeights& w = weights_;
  if (root_state_.empty()) return;
  first_row_ = w.forward.batch().rows();
  rows_ = tree_.add_level(sequence_.cache(), *job.tree, job.frontier, w.forward.batch());
  for (const std::int32_t node : job.frontier) {
    const int row = tree_.batch_row(node);
    if (row < 0) continue;
    w.forward.add_state(state(job.tree->parents()[static_cast<std::size_t>(node)]));
    w.candidates.want(index, node, row);
  }
}

/// Keeps what the rows gave, for those that follow them.
void RecurrentDrafter::take_results() {
  if (rows_ == 0) return;
  if (sequence_.in_flight() > 0) {
    sequence_.commit();
    const std::span<const float> last = weights_.forward.results(first_row_ + rows_ - 1);
    root_state_.assign(last.begin(), last.end());
  } else {
    const std::span<const float> all = weights_.forward.results(first_row_, rows_);
    level_states_.insert(level_states_.end(), all.begin(), all.end());
  }
}

/// What the row of a node that has run gave.
std::span<const float> RecurrentDrafter::state(std::int32_t node) const {
  if (node == DraftTree::kRoot) return root_state_;
  const auto width = static_cast<std::size_t>(weights_.forward.width());
  return std::span(level_states_).subspan(static_cast<std::size_t>(tree_.row_of(node)) * width, width);
}

void RecurrentDrafter::expand_many(std::span<const ExpandJob> jobs) {
  RecurrentWeights& w = weights_;
  for (const ExpandJob& job : jobs) drafter_of(job).catch_up(job);
  w.forward.clear();
  w.candidates.begin(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ExpandJob& job = jobs[i];
    drafter_of(job).rows_ = 0;
    if (job.frontier.empty() || job.options.max_nodes <= 0) continue;
    if (job.frontier.front() == DraftTree::kRoot) {
      drafter_of(job).add_root(job, i);
    } else {
      drafter_of(job).add_level(job, i);
    }
  }
  if (w.forward.empty()) return;
  w.forward.run();
  for (std::size_t i = 0; i < w.candidates.size(); ++i) {
    const int row = w.candidates.rows()[i];
    w.forward.fill(w.candidates.head_rows()[i], row);
    w.candidates.set_state(i, w.forward.results(row));
  }
  for (const ExpandJob& job : jobs) drafter_of(job).take_results();
  w.candidates.add_children(w.exit);
}

namespace {

class RecurrentModel final : public DrafterModel {
 public:
  RecurrentModel(std::unique_ptr<RecurrentHead> head, const VocabularyChoice* vocabulary)
      : weights_(std::make_unique<RecurrentWeights>(std::move(head), vocabulary)) {}
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<RecurrentDrafter>(*weights_, settings.context);
  }
  void forget_learnt() override { weights_->exit.forget(); }

 private:
  std::unique_ptr<RecurrentWeights> weights_;
};

}  // namespace

std::unique_ptr<DrafterModel> make_recurrent_model(std::unique_ptr<RecurrentHead> head,
                                                   const VocabularyChoice* vocabulary) {
  if (head->shape().placeholders > 0) return make_peagle_model(std::move(head), vocabulary);
  return std::make_unique<RecurrentModel>(std::move(head), vocabulary);
}

}  // namespace augur
