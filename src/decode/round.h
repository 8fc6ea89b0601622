#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "cost/cost.h"
#include "decode/speculation.h"
#include "draft/common/mask_tree.h"
#include "policy/round_controller.h"
#include "tree/node_wants.h"
#include "tree/rerank.h"

namespace augur {

/// What one sequence brings to the rounds of a batch, and what the round in flight has made of it.
struct SequenceDraft {
  // For all rounds:
  Speculation speculation;
  NodeWants record;  ///< recorded in the trees about expanded nodes, beside what the policies ask for
  std::function<void(const DraftTree&)> on_draft;  ///< SequenceOptions::on_draft
  bool coupled = false;                            ///< ExpandOptions::coupled
  bool sampled = false;  ///< drafters with a law draw their candidates, from rows of `vocab` probabilities
  std::int32_t vocab = 0;
  Sampler* sampler = nullptr;       ///< the sequence's
  MaskTree* masks = nullptr;        ///< the sequence's; null: its text may be anything
  KvCache* target_cache = nullptr;  ///< the sequence's

  // For this round, set before Round::draft():
  std::span<const TokenId> tokens;  ///< the text, the root last
  RoundInfo info;                   ///< context, room and max_depth

  // What comes of it:
  DraftTree tree;
  std::int32_t drafted = 0;  ///< nodes that were proposed, before pruning
  double classify_ms = 0;    ///< of drafting, what the policies took (TreePolicy::classify_ms)
  StepForecast forecast;
  std::optional<EarlyRows> early;  ///< rows of the target that drafting has run
  std::exception_ptr failure;      ///< what was thrown for this sequence; its tree is worthless then

  /// Whether its drafters do have laws to draw from.
  bool draws() const { return sampled && speculation.drafters.front().drafter->traits().has_probabilities; }
};

/// Drafting for a batch: every drafter of every sequence grows a tree of its own as its policy says, drafters
/// that share weights together; a sequence's trees are merged, and its controller, if it has one, says what
/// is verified. What a sequence's constraint does not allow is dropped as soon as a drafter has added it: no
/// policy and no controller ever sees such a node. What is thrown for one sequence, by a drafter or a policy,
/// fails that one alone. What a controller throws is thrown for all of its sequences in the batch: it fails
/// these, as none of them can be told apart, and no other. One thread at a time; after the first rounds
/// nothing allocates.
class Round {
 public:
  /// `costs` is told what drafting takes by `clock`. Both outlive it.
  explicit Round(CostModel& costs, const Clock& clock = Clock::steady()) : costs_(costs), clock_(clock) {}

  /// Makes the drafts' trees. The drafts stay where they are until observe() has seen the same ones. Throws
  /// only for want of memory, before anything is drafted.
  void draft(std::span<SequenceDraft* const> drafts);
  /// Of the text's rows that wait for its drafters those run which are more than may wait
  /// (SequenceRows::crowded). Between rounds. What is thrown is for the caller.
  void relieve(SequenceDraft& draft);
  /// What came of the drafts, in the same order: `traces[i]` of `drafts[i]`. Sequences that failed are passed
  /// over. Never throws.
  void observe(std::span<SequenceDraft* const> drafts, std::span<const StepTrace> traces);

 private:
  /// One of the sequences of the round in flight.
  struct Seat {
    SequenceDraft* draft = nullptr;
    RoundMember member;              ///< as its controller sees it
    Speculator* drafting = nullptr;  ///< whose turn it is
    std::int32_t size_before_level = 0;
    std::int32_t last_rows = 1;  ///< that its sequence verified in its last round; a first one: its root
    Reranker reranker;

    bool failed() const { return draft->failure != nullptr; }
    const RoundController* controller() const { return draft->speculation.steering.controller.get(); }
  };

  void reserve(std::size_t drafts);
  void begin();
  void draft_in_turn(int turn);
  void begin_speculator(Seat& seat, Speculator& with);
  void grow_level(int level);
  static void ask_frontier(Seat& seat);
  void add_job(Seat& seat);
  DraftCosts& costs_of(Speculator& with);
  bool run_chunk(Speculator& with);
  void catch_up(Speculator& with);
  void expand(std::span<Seat*> group, int level);
  static void prune_illegal(SequenceDraft& draft, DraftTree& tree);
  static void end_speculator(Seat& seat);
  static void merge(Seat& seat);
  static void cut(Seat& seat);
  Seat& seat_of(const SequenceDraft& draft) const;
  template <class Call>
  void for_controllers(std::span<Seat* const> seats, Call&& call);
  void fail_all(const RoundController* controller, const std::exception_ptr& why);

  CostModel& costs_;
  const Clock& clock_;

  // The round in flight.
  std::vector<Seat> seats_;  ///< as many as a batch has had at most: what they hold stays
  std::vector<Seat*> batch_;
  std::vector<Seat*> growing_;  ///< those whose trees of this turn still grow
  std::vector<Seat*> level_;    ///< of these, in this level, by group
  std::vector<Seat*> active_;
  std::vector<Seat*> observed_;
  std::vector<ExpandJob> jobs_;
  std::vector<RoundMember*> members_;
};

}  // namespace augur
