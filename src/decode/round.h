#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cost/cost.h"
#include "draft/common/mask_tree.h"
#include "draft/drafter.h"
#include "policy/policy.h"
#include "policy/round_controller.h"
#include "tree/node_wants.h"
#include "tree/rerank.h"

namespace augur {

/// A drafter of a sequence and the policy that shapes its trees.
struct Speculator {
  std::unique_ptr<Drafter> drafter;
  std::unique_ptr<TreePolicy> policy;     ///< null: the sequence's controller steers it
  std::string name = {};                  ///< whose costs its drafting has; empty: the drafter's
  DraftTree tree = {};                    ///< of this round, until it becomes part of the sequence's
  std::span<const int> tap_layers = {};   ///< Drafter::tap_layers(), from when the sequence is made
  std::optional<TargetWants> wants = {};  ///< Drafter::target_wants(), from then, too
  /// When it drafts in a round: in a batch those of one turn do so together. Rising in a sequence, in which
  /// no two have the same; -1: its place in the sequence.
  int turn = -1;
  bool alone = false;  ///< it no longer shares batches: one that it was in has failed

  // Of this round.
  DraftCosts* costs = nullptr;  ///< what its drafting is charged to
  int rows = 1;                 ///< Drafter::root_rows(): what its first level runs
  const void* group = nullptr;  ///< Drafter::group(), or itself
  bool aborted = false;         ///< what it has drafted is lost
  bool begun = false;           ///< its policy's last round has yet to be observed
};

/// What one sequence brings to the rounds of a batch, and what the round in flight has made of it.
struct SequenceDraft {
  // For all rounds:
  std::vector<Speculator> speculators;
  std::shared_ptr<RoundController> controller;  ///< null: the best nodes by score stay
  std::unique_ptr<ControlledText> text;         ///< the controller's
  int tree_nodes = 0;  ///< nodes beside the root that a tree of several drafters may have; 0: all
  NodeWants record;    ///< recorded in the trees about expanded nodes, beside what the policies ask for
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
  bool draws() const { return sampled && speculators.front().drafter->traits().has_probabilities; }

 private:
  friend class Round;
  RoundMember member_;
  Reranker reranker_;
  Speculator* drafting_ = nullptr;  ///< whose turn it is
  std::int32_t size_before_level_ = 0;
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
  /// For a text that is still being read: of its rows that wait for a drafter those run which are more than
  /// may wait. What is thrown is for the caller.
  void relieve(SequenceDraft& draft);
  /// What came of the drafts, in the same order: `traces[i]` of `drafts[i]`. Sequences that failed are passed
  /// over. Never throws.
  void observe(std::span<SequenceDraft* const> drafts, std::span<const StepTrace> traces);

 private:
  void reserve(std::size_t drafts);
  void begin();
  void draft_in_turn(int turn);
  void begin_speculator(SequenceDraft& draft, Speculator& with);
  void grow_level(int level);
  static void ask_frontier(SequenceDraft& draft);
  void add_job(SequenceDraft& draft);
  DraftCosts& costs_of(const Speculator& with);
  bool run_chunk(Speculator& with);
  void catch_up(Speculator& with);
  void expand(std::span<SequenceDraft*> group, int level);
  static void prune_illegal(SequenceDraft& draft, DraftTree& tree);
  void end_speculator(SequenceDraft& draft);
  void merge(SequenceDraft& draft);
  void cut(SequenceDraft& draft);
  template <class Call>
  void for_controllers(std::span<SequenceDraft* const> drafts, Call&& call);
  void fail_all(const RoundController* controller, const std::exception_ptr& why);

  CostModel& costs_;
  const Clock& clock_;

  // The round in flight.
  std::vector<SequenceDraft*> batch_;
  std::vector<SequenceDraft*> growing_;  ///< those whose trees of this turn still grow
  std::vector<SequenceDraft*> level_;    ///< of these, in this level, by group
  std::vector<SequenceDraft*> active_;
  std::vector<ExpandJob> jobs_;
  std::vector<RoundMember*> members_;
};

}  // namespace augur
