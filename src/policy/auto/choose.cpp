#include "policy/auto/choose.h"

#include <algorithm>
#include <cmath>

namespace augur {

Chooser::Chooser() {
  // Later rounds may have larger trees than the first ones, and should not have to allocate.
  for (Terms* terms : {&now_, &coming_}) terms->row_ms.reserve(AutoSequence::kMostNodes + 1);
  for (std::vector<float>* chances : {&candidates_, &more_}) chances->reserve(AutoSequence::kMostNodes);
  drafter_bids_.reserve(AutoSequence::kMostNodes);
  node_bids_.reserve(AutoSequence::kMostNodes);
  cut_bids_.reserve(AutoSequence::kMostNodes);
  chances_.reserve(AutoSequence::kMostNodes);
}

void Chooser::begin(std::span<RoundMember* const> members, int other_rows) {
  sequences_ = static_cast<double>(members.size());
  tree_rows_ = sequences_ + other_rows;
  base_rows_ = tree_rows_ + members.front()->info.prompt_rows;
  costs_ = members.front()->info.costs;
  context_ = 0;
  std::size_t room = 0;
  for (RoundMember* member : members) {
    context_ += static_cast<double>(member->info.context) / sequences_;
    room += static_cast<std::size_t>(std::max(0, member->info.room));
    AutoSequence& sequence = sequence_of(*member);
    sequence.p_unproposed = 1;
    for (std::size_t i = 0; i < sequence.drafters.size(); ++i) {
      sequence.drafters[i].begin_round(member->drafters[i], member->sampled, sequences_);
    }
    member->frontier.reserve(AutoSequence::kMostWidth);
    member->kept.reserve(AutoSequence::kMostNodes);
  }
  base_ms_ = costs_->verify_ms(base_rows_, context_);
  for (RoundMember* member : members) {
    sequence_of(*member).set_token_value(member->info, base_ms_ + costs_->other_ms());
  }
  room_ = std::min(room, static_cast<std::size_t>(AutoSequence::kMostNodes));
  const double reading = members.front()->info.reading;
  price_ = std::max(1.0, rate_.tokens_per_step()) * (sequences_ + reading) / step_ms(reading);
  set_terms(now_, 0, members.front()->info.prompt_rows, kOptimism);
  set_terms(coming_, reading, 0, 0);
  draft_ms_ = 0;
  investing_ = 0;
  slowdown_ = 1;
  below_confidence_bound_ = false;
  candidates_.clear();
  plain_ = rate_.plain_steps_due();
}

/// The part in a plain step of the members and of `reading` texts more.
double Chooser::step_ms(double reading) const {
  const double trees = tree_rows_ + reading;
  return (costs_->verify_ms(trees, context_) + costs_->other_ms()) * (sequences_ + reading) / trees;
}

/// Of the members and `reading` texts more, beside `prompt_rows` rows; rows `errors` standard errors below
/// what is believed.
void Chooser::set_terms(Terms& terms, double reading, double prompt_rows, double errors) const {
  terms.step_ms = step_ms(reading);
  std::vector<double>& row_ms = terms.row_ms;
  row_ms.resize(room_ + 1);
  costs_->optimistic_rows_ms(tree_rows_ + reading + prompt_rows, context_, errors, row_ms);
  // A single row's price may be next to nothing where a kernel's tile is not full yet: over half a tile.
  const std::size_t stretch = std::min(AutoSequence::kMostWidth / 2, row_ms.size() - 1);
  terms.threshold = 1;
  for (std::size_t n = 0; stretch > 0 && n + stretch < row_ms.size(); ++n) {
    terms.threshold =
        std::min(terms.threshold, price_ * (row_ms[n + stretch] - row_ms[n]) / static_cast<double>(stretch));
  }
}

Chooser::Cut Chooser::best(const Terms& terms, std::span<const float> more) const {
  Cut best;
  double tokens = 0;
  std::size_t a = 0;
  std::size_t b = 0;
  const std::size_t most = std::min(terms.row_ms.size() - 1, candidates_.size() + more.size());
  for (std::size_t nodes = 1; nodes <= most; ++nodes) {
    const bool first = b == more.size() || (a < candidates_.size() && candidates_[a] >= more[b]);
    tokens += static_cast<double>(first ? candidates_[a++] : more[b++]);
    const double net = tokens - price_ * terms.row_ms[nodes];
    if (net > best.net) best = {nodes, net};
  }
  return best;
}

void Chooser::plan(int level, std::span<RoundMember* const> growing) {
  if (level == 0) {
    choose_drafters(growing);
  } else {
    choose_frontier(level, growing);
  }
}

void Chooser::observe(std::span<RoundMember* const> members) {
  double tokens = 0;
  double nodes = 0;
  double draft_ms = 0;
  double trees_ms = 0;
  double other_ms = 0;
  for (RoundMember* member : members) {
    const StepTrace& trace = *member->trace;
    tokens += static_cast<double>(trace.path.size());
    nodes += static_cast<double>(trace.tree->size() - 1);
    draft_ms += trace.draft_ms;
    trees_ms += trace.verify_ms;
    other_ms += trace.other_ms;
    sequence_of(*member).learn(trace);
  }
  if (investing_ > 0) {  // is no part of what rounds take
    budget_.invest(steps(draft_ms - draft_ms_));
    draft_ms = draft_ms_;
  }
  const auto sequences = static_cast<double>(members.size());
  const StepTrace& any = *members.front()->trace;
  const double prompts = std::max(0.0, any.batch_rows - tree_rows_ - nodes);
  // Of the verification what the drafts took: the rest is a plain step's, slow or fast as the moment is.
  const double base = tree_rows_ + prompts;
  const double expected = costs_->verify_ms(base + nodes, context_) * slowdown_;
  const double share = std::max(0.0, 1 - costs_->verify_ms(base, context_) / expected);
  const double own = (sequences + nodes) / (tree_rows_ + nodes);  // of the trees
  const double verify_ms = prompts > 0 ? any.step_ms : trees_ms / own;
  const double of_drafts = share * verify_ms;
  const double step_ms = now_.step_ms * sequences / sequences_;
  // Beside prompts a step is a plain one and what the drafts took, however long the prompts made it.
  const double took =
      prompts > 0 ? 1 + (draft_ms + of_drafts) / step_ms : (draft_ms + own * verify_ms + other_ms) / step_ms;
  const double unexpected = prompts == 0 ? std::abs(verify_ms / expected_ms_ - 1) : 0;
  rate_.observe(tokens / sequences, took, nodes == 0 && steps(draft_ms_) < kNegligible, unexpected);
  budget_.pass(took);
  if (draft_ms_ == 0 && nodes == 0) return;
  budget_.book((tokens - sequences) / sequences - (draft_ms + of_drafts) / step_ms);
}

}  // namespace augur
