#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "decode/round.h"
#include "policy/step_trace.h"
#include "support/hand_clock.h"

namespace augur::testing_support {

/// How often a drafter's candidate of that rank is right, of how often the likeliest one is, which is so with
/// probability `right`.
inline double candidate_share(int rank, double right) {
  return rank == 0 ? 1 : (1 - right) * std::pow(0.5, rank);
}

/// A text that a target without a model writes: its tokens are drawn when they are first asked for, whoever
/// asks. The drafter's likeliest candidate is token 1, the others follow; 0 is none of them.
class DrawnSequence {
 public:
  static constexpr int kCandidates = 12;  ///< of a place, at most

  explicit DrawnSequence(std::uint64_t seed) : random_(seed) {}
  virtual ~DrawnSequence() = default;

  /// The token that is right, counted from the first that is written.
  TokenId at(std::size_t place) {
    while (tokens_.size() <= place) tokens_.push_back(draw());
    return tokens_[place];
  }
  /// Of the root.
  virtual std::size_t place() const = 0;

  SequenceDraft draft;
  TokenId root = 0;
  std::vector<std::int32_t> path;  ///< of the round: accepted nodes, the root first

 protected:
  /// How often the likeliest candidate of a place is right, and how many candidates there are.
  virtual double right() const = 0;
  virtual int candidates() const { return kCandidates; }

 private:
  TokenId draw() {
    double left = std::uniform_real_distribution<double>()(random_);
    for (int rank = 0; rank < candidates(); ++rank) {
      left -= right() * candidate_share(rank, right());
      if (left < 0) return 1 + rank;
    }
    return 0;
  }

  std::mt19937_64 random_;
  std::vector<TokenId> tokens_;
};

/// The real round (decode/round.h) over texts that are drawn, by a clock that is given.
class ClockedRound {
 public:
  /// `costs` outlives it.
  explicit ClockedRound(CostModel& costs) : round_(costs, clock_) {}

  HandClock& clock() { return clock_; }
  const HandClock& clock() const { return clock_; }

  /// Drafts for texts whose `draft.info` is set. They stay where they are until observe().
  template <class Text>
  void draft(std::span<Text* const> texts) {
    began_ms_ = clock_.now_ms();
    texts_.assign(texts.begin(), texts.end());
    drafts_.clear();
    for (DrawnSequence* text : texts_) {
      text->draft.tokens = {&text->root, 1};
      text->draft.vocab = 1024;  // more than any of the drafters proposes
      drafts_.push_back(&text->draft);
    }
    round_.draft(drafts_);
    draft_ms_ = clock_.now_ms() - began_ms_;
  }
  /// Drafting takes so much longer, for no reason of its own.
  void interrupt(double ms) {
    clock_.pass(ms);
    draft_ms_ = clock_.now_ms() - began_ms_;
  }
  /// Rows of the trees to verify.
  int rows() const {
    int rows = 0;
    for (const SequenceDraft* draft : drafts_) rows += draft->tree.size();
    return rows;
  }

  struct Step {
    std::int32_t rows = 0;  ///< of the forward, prompts' included
    double trees_ms = 0;    ///< of what the trees alone would have taken
    double other_ms = 0;
    double ms = 0;  ///< of forward and check, prompts' included; needed beside prompts alone
  };
  /// Walks every text's tree along what is right and tells the round what came of it.
  void observe(const Step& step) {
    const auto texts = static_cast<double>(texts_.size());
    const int tree_rows = rows();
    std::vector<StepTrace> traces;
    for (DrawnSequence* text : texts_) {
      const DraftTree& tree = text->draft.tree;
      text->path.assign(1, DraftTree::kRoot);
      TokenId next = text->at(text->place());
      for (std::int32_t c = tree.find_child(DraftTree::kRoot, next); c >= 0; c = tree.find_child(c, next)) {
        text->path.push_back(c);
        next = text->at(text->place() + text->path.size() - 1);
      }
      StepTrace& trace = traces.emplace_back();
      trace.next = next;
      trace.drafted = text->draft.drafted;
      trace.batch_rows = step.rows;
      trace.draft_ms = draft_ms_ / texts;
      trace.verify_ms = step.trees_ms * tree.size() / tree_rows;
      trace.other_ms = step.other_ms / texts;
      trace.tree = &tree;
      trace.path = text->path;
      trace.context = text->draft.info.context;
      trace.step_ms = step.ms;
      trace.forecast = text->draft.forecast;
    }
    round_.observe(drafts_, traces);
  }

 private:
  HandClock clock_;
  Round round_;
  std::vector<DrawnSequence*> texts_;
  std::vector<SequenceDraft*> drafts_;
  double began_ms_ = 0;
  double draft_ms_ = 0;
};

}  // namespace augur::testing_support
