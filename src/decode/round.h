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

/// What one sequence contributes to the rounds of a batch, and its results of the current round.
struct SequenceDraft {
  // The same in all rounds:
  Speculation speculation;
  NodeWants record;  ///< what to record about expanded nodes, in addition to what the policies ask for
  std::function<void(const DraftTree&)> on_draft;  ///< SequenceOptions::on_draft
  bool coupled = false;                            ///< ExpandOptions::coupled
  bool sampled = false;  ///< drafters that have probabilities draw their candidates from them: `vocab` values
                         ///< per row
  std::int32_t vocab = 0;
  Sampler* sampler = nullptr;       ///< the sequence's
  MaskTree* masks = nullptr;        ///< the sequence's; null: no grammar
  KvCache* target_cache = nullptr;  ///< the sequence's

  // Of this round, set before Round::draft():
  std::span<const TokenId> tokens;  ///< the text; its last token is the root
  RoundInfo info;                   ///< context, room and max_depth

  // Results of the round:
  DraftTree tree;
  std::int32_t drafted = 0;  ///< nodes proposed, before pruning
  double classify_ms = 0;    ///< milliseconds of drafting that policies spent (TreePolicy::classify_ms)
  StepForecast forecast;
  std::optional<EarlyRows> early;  ///< rows that drafting has run through the target's first layers
  std::exception_ptr failure;      ///< exception thrown for this sequence; then its tree is invalid

  /// Whether its drafters have probabilities to draw candidates from.
  bool draws() const { return sampled && speculation.drafters.front().drafter->traits().has_probabilities; }
};

/// Drafts for a batch. Every drafter of every sequence grows a tree of its own as its policy says; drafters
/// that share weights run together. A sequence's trees are merged, and its controller, if it has one, decides
/// which nodes are verified. Nodes that a sequence's constraint forbids are removed as soon as a drafter has
/// added them, so no policy or controller sees them. An exception from a drafter or a policy fails the
/// sequence for which it was thrown; one from a controller fails all sequences of the batch that it steers,
/// as it cannot be attributed to one of them. For one thread at a time. After the first rounds nothing is
/// allocated.
class Round {
 public:
  /// `costs` is told how long drafting takes by `clock`. Both must outlive the round.
  explicit Round(CostModel& costs, const Clock& clock = Clock::steady()) : costs_(costs), clock_(clock) {}

  /// Makes the trees of `drafts`. The drafts must not move before observe() has been called with the same
  /// ones. Throws only if memory runs out, before anything is drafted.
  void draft(std::span<SequenceDraft* const> drafts);
  /// Runs rows that wait for the sequence's drafters, as far as more wait than may (SequenceRows::crowded).
  /// To be called between rounds. Exceptions reach the caller.
  void relieve(SequenceDraft& draft);
  /// Tells policies and controllers what came of the drafts: `traces[i]` belongs to `drafts[i]`. Failed
  /// sequences are skipped. Never throws.
  void observe(std::span<SequenceDraft* const> drafts, std::span<const StepTrace> traces);

 private:
  /// A sequence of the current round.
  struct Seat {
    SequenceDraft* draft = nullptr;
    RoundMember member;              ///< what its controller sees
    Speculator* drafting = nullptr;  ///< the drafter that has its turn
    std::int32_t size_before_level = 0;
    std::int32_t last_rows = 1;  ///< rows that the sequence verified in its last round; 1 (the root) in its
                                 ///< first
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
  std::vector<Seat> seats_;  ///< one per sequence of the largest batch so far: their buffers are reused
  std::vector<Seat*> batch_;
  std::vector<Seat*> growing_;  ///< those whose trees still grow in this turn
  std::vector<Seat*> level_;    ///< those of growing_ that take part in this level, by group
  std::vector<Seat*> active_;
  std::vector<Seat*> observed_;
  std::vector<ExpandJob> jobs_;
  std::vector<RoundMember*> members_;
};

}  // namespace augur
