#include "decode/round.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

#include "draft/common/sequence_rows.h"
#include "draft/expansion.h"

namespace augur {
namespace {

/// Calls what may throw for this sequence, whose first failure counts. True: it did not.
template <class Call>
bool guarded(SequenceDraft& draft, Call&& call) {
  try {
    call();
    return true;
  } catch (...) {
    if (!draft.failure) draft.failure = std::current_exception();
    return false;
  }
}

int turn_of(const SequenceDraft& draft, std::size_t speculator) {
  const int turn = draft.speculation.drafters[speculator].turn;
  return turn < 0 ? static_cast<int>(speculator) : turn;
}

}  // namespace

/// What all sequences share is allocated before the first of them is touched.
void Round::reserve(std::size_t drafts) {
  for (auto* some : {&batch_, &growing_, &level_, &active_, &observed_}) some->reserve(drafts);
  jobs_.reserve(drafts);
  members_.reserve(drafts);
  if (seats_.size() < drafts) seats_.resize(drafts);
}

void Round::draft(std::span<SequenceDraft* const> drafts) {
  reserve(drafts.size());
  batch_.clear();
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    seats_[i].draft = drafts[i];
    batch_.push_back(&seats_[i]);
  }
  begin();
  int turns = 0;
  for (const SequenceDraft* d : drafts) {
    const std::size_t count = d->speculation.drafters.size();
    if (count > 0) turns = std::max(turns, turn_of(*d, count - 1) + 1);
  }
  for (int turn = 0; turn < turns; ++turn) draft_in_turn(turn);
  for (Seat* seat : batch_) merge(*seat);
  for_controllers(batch_, [](RoundController& controller, std::span<RoundMember* const> members) {
    controller.cut(members);
  });
  for (Seat* seat : batch_) cut(*seat);
}

/// Calls for the members of every controller.
template <class Call>
void Round::for_controllers(std::span<Seat* const> seats, Call&& call) {
  for (std::size_t first = 0; first < seats.size(); ++first) {
    RoundController* const controller = seats[first]->draft->speculation.steering.controller.get();
    const auto counts = [&](const Seat* seat) { return seat->controller() == controller && !seat->failed(); };
    if (controller == nullptr || seats[first]->failed()) continue;
    if (std::any_of(seats.begin(), seats.begin() + static_cast<std::ptrdiff_t>(first), counts)) continue;
    members_.clear();
    for (Seat* seat : seats) {
      if (counts(seat)) members_.push_back(&seat->member);
    }
    try {
      call(*controller, std::span<RoundMember* const>(members_));
    } catch (...) {
      fail_all(controller, std::current_exception());
    }
  }
}

void Round::fail_all(const RoundController* controller, const std::exception_ptr& why) {
  for (Seat* seat : batch_) {
    if (seat->controller() == controller && !seat->failed()) seat->draft->failure = why;
  }
}

/// Tells everybody about the batch that the round is part of.
void Round::begin() {
  for (Seat* seat : batch_) {
    SequenceDraft& d = *seat->draft;
    seat->last_rows = std::max(1, d.tree.size());
    d.failure = nullptr;
    d.info.costs = &costs_;
    d.info.clock = &clock_;
    d.forecast = {};
    RoundMember& member = seat->member;
    member.sequence = d.speculation.steering.sequence.get();
    member.info = d.info;
    member.drafters.clear();
    member.kept.clear();
    member.forecast = {};
    d.tree.reset(d.tokens.back(), d.info.context);
    d.drafted = 0;
    d.classify_ms = 0;
    d.early.reset();
    guarded(d, [&] {
      member.sampled = d.draws();
      for (Speculator& with : d.speculation.drafters) begin_speculator(*seat, with);
    });
  }
  for_controllers(batch_, [&](RoundController& controller, std::span<RoundMember* const> members) {
    int others = 0;
    for (const Seat* seat : batch_) {
      if (seat->controller() != &controller && !seat->failed()) others += seat->last_rows;
    }
    controller.begin(members, others);
  });
}

// --- One drafter of every sequence -----------------------------------------------------------------------

/// Looked up once: the entry stays where it is.
DraftCosts& Round::costs_of(Speculator& with) {
  if (with.costs == nullptr) with.costs = &costs_.drafter(with.cost_name());
  return *with.costs;
}

void Round::draft_in_turn(int turn) {
  active_.clear();
  for (Seat* seat : batch_) {
    SequenceDraft& d = *seat->draft;
    if (seat->failed() || d.info.room < 1 || d.info.max_depth < 1) continue;
    std::vector<Speculator>& drafters = d.speculation.drafters;
    for (std::size_t i = 0; i < drafters.size(); ++i) {
      if (turn_of(d, i) != turn) continue;
      seat->drafting = &drafters[i];
      seat->member.drafter = i;
      seat->member.tree = &drafters[i].tree;
      active_.push_back(seat);
    }
  }
  growing_ = active_;
  for (int level = 0; !growing_.empty(); ++level) grow_level(level);
  level_.clear();
  for (Seat* seat : active_) {
    if (!seat->drafting->aborted) level_.push_back(seat);
  }
  for_controllers(level_, [](RoundController& controller, std::span<RoundMember* const> members) {
    controller.drafted(members);
  });
  for (Seat* seat : active_) {
    guarded(*seat->draft, [&] { end_speculator(*seat); });
    guarded(*seat->draft, [&] { seat->drafting->drafter->end_round(); });
  }
}

void Round::begin_speculator(Seat& seat, Speculator& with) {
  const SequenceDraft& draft = *seat.draft;
  with.tree.reset(draft.tokens.back(), draft.info.context);
  with.aborted = false;
  with.rows = static_cast<int>(with.drafter->root_rows());
  with.group = with.alone ? with.drafter.get() : with.drafter->group();
  RoundInfo info = draft.info;
  info.drafter = with.drafter->traits();
  info.behind = with.rows;
  info.draft_costs = &costs_of(with);
  if (draft.sampled && info.drafter.has_probabilities) with.tree.set_sampled(draft.vocab);
  if (with.policy) {
    if (std::exchange(with.begun, true)) with.policy->abandoned();
    with.policy->begin(info);
  }
  seat.member.drafters.push_back(info);
}

/// For the next level: its policy's, or the one that the controller has planned.
void Round::ask_frontier(Seat& seat) {
  const Speculator& with = *seat.drafting;
  assert((with.policy || seat.controller() != nullptr) && "somebody steers a drafter");
  if (with.policy == nullptr) return;
  seat.member.frontier.clear();
  with.policy->next_frontier(with.tree, seat.member.frontier);
}

void Round::grow_level(int level) {
  for (Seat* seat : growing_) seat->member.frontier.clear();
  for_controllers(growing_, [&](RoundController& controller, std::span<RoundMember* const> members) {
    controller.plan(level, members);
  });
  level_.clear();
  for (Seat* seat : growing_) {
    seat->size_before_level = seat->drafting->tree.size();
    if (!seat->failed()) guarded(*seat->draft, [&] { ask_frontier(*seat); });
    if (!seat->failed() && !seat->member.frontier.empty()) level_.push_back(seat);
  }
  // Drafters that share weights run as one batch.
  const auto group = [](const Seat* seat) { return seat->drafting->group; };
  std::sort(level_.begin(), level_.end(),
            [&](const Seat* a, const Seat* b) { return std::less<>{}(group(a), group(b)); });
  for (std::size_t begin = 0; begin < level_.size();) {
    std::size_t end = begin + 1;
    while (end < level_.size() && group(level_[end]) == group(level_[begin])) ++end;
    expand(std::span(level_).subspan(begin, end - begin), level);
    begin = end;
  }
  // Who added nothing has nothing more to say.
  std::erase_if(growing_, [](const Seat* seat) {
    const Speculator& with = *seat->drafting;
    return seat->failed() || with.aborted || with.tree.size() == seat->size_before_level;
  });
}

void Round::add_job(Seat& seat) {
  const SequenceDraft& draft = *seat.draft;
  Speculator& with = *seat.drafting;
  const RoundMember& member = seat.member;
  const TreePolicy* const policy = with.policy.get();
  const int width = policy ? policy->width() : member.width;
  jobs_.push_back({.drafter = with.drafter.get(),
                   .tree = &with.tree,
                   .frontier = member.frontier,
                   .options = {.top_k = width,
                               .max_nodes = width * static_cast<int>(member.frontier.size()),
                               .branching = policy == nullptr || policy->branches(),
                               .least_confidence = policy ? policy->least_confidence() : 0.0,
                               .proposer = static_cast<ProposerId>(member.drafter + 1),
                               .wants = (policy ? policy->wants() : NodeWants{}) | draft.record,
                               .sample = with.tree.law() == ProposalLaw::Sampled,
                               .coupled = draft.coupled,
                               .sampler = draft.sampler,
                               .masks = draft.masks,
                               .tokens = draft.tokens,
                               .target_cache = draft.target_cache}});
}

/// Timed by itself: what a chunk takes is known apart from what the round's own rows do.
bool Round::run_chunk(Speculator& with) {
  if (with.drafter->root_rows() <= kSequenceChunk) return false;
  const Stopwatch watch(clock_);
  if (!with.drafter->run_chunk()) return false;
  costs_of(with).observe(0, kSequenceChunk, watch.ms());
  return true;
}

/// Of a long text that waits only the last rows are left to the level that all sequences share.
void Round::catch_up(Speculator& with) {
  while (run_chunk(with)) {
  }
  with.rows = static_cast<int>(with.drafter->root_rows());
}

void Round::relieve(SequenceDraft& draft) {
  for (Speculator& with : draft.speculation.drafters) {
    const SequenceRows* const rows = with.drafter->sequence_rows();
    try {
      while (rows != nullptr && rows->crowded() && run_chunk(with)) {
      }
    } catch (...) {
      with.drafter->end_round();  // what it has begun is rolled back: the step may be made again
      throw;
    }
  }
}

/// One level of drafters that run together. One that throws alone fails its sequence. Of several nobody knows
/// which it was, nor what the others' states are worth in this round: they draft nothing more in it, and
/// apart from now on.
void Round::expand(std::span<Seat*> group, int level) {
  jobs_.clear();
  int rows = 0;
  for (Seat* seat : group) {
    if (level == 0 && !guarded(*seat->draft, [&] { catch_up(*seat->drafting); })) continue;
    if (!guarded(*seat->draft, [&] { add_job(*seat); })) continue;
    group[jobs_.size() - 1] = seat;
    rows += level == 0 ? seat->drafting->rows : static_cast<int>(seat->member.frontier.size());
  }
  group = group.first(jobs_.size());
  if (group.empty()) return;
  const Stopwatch watch(clock_);
  try {
    jobs_.front().drafter->expand_many(jobs_);
  } catch (...) {
    for (Seat* seat : group) {
      SequenceDraft& draft = *seat->draft;
      if (group.size() == 1) draft.failure = std::current_exception();
      Speculator& with = *seat->drafting;
      with.alone = with.aborted = true;
      with.tree.reset(draft.tokens.back(), draft.info.context);
    }
    return;
  }
  const double ms = watch.ms();
  group.front()->drafting->costs->observe(level, rows, ms);
  for (std::size_t i = 0; i < group.size(); ++i) {
    [[maybe_unused]] const RoundMember& member = group[i]->member;
    assert(broken_promise(jobs_[i], member.drafters[member.drafter].drafter, group[i]->size_before_level,
                          group[i]->draft->vocab)
               .empty());
    guarded(*group[i]->draft, [&] { prune_illegal(*group[i]->draft, *jobs_[i].tree); });
  }
}

/// Drops what the text may not go on with, before anybody sees it: a node has one number from here on until
/// its policy prunes. Nodes that were there before the level stay where they are, so drafters may go on by
/// their numbers; they have run none of the new ones yet.
void Round::prune_illegal(SequenceDraft& draft, DraftTree& tree) {
  if (draft.masks != nullptr) draft.masks->prune(tree);
}

void Round::end_speculator(Seat& seat) {
  SequenceDraft& draft = *seat.draft;
  Speculator& with = *seat.drafting;
  if (seat.failed() || with.aborted) return;
  draft.drafted += with.tree.size() - 1;
  if (draft.on_draft) draft.on_draft(with.tree);
  if (with.policy) {
    with.policy->prune(with.tree);
    draft.classify_ms += with.policy->classify_ms();
    if (!draft.forecast.says_something()) draft.forecast = with.policy->forecast();
  } else {
    seat.reranker.keep_best(with.tree, static_cast<std::size_t>(draft.info.room));
  }
  with.tree.limit_depth(draft.info.max_depth);
  if (with.tree.size() > draft.info.room + 1) with.tree.truncate(draft.info.room + 1);
  if (auto early = with.drafter->take_early_rows()) draft.early.emplace(std::move(*early));
}

// --- One tree of a sequence's drafts ---------------------------------------------------------------------

void Round::merge(Seat& seat) {
  SequenceDraft& draft = *seat.draft;
  std::vector<Speculator>& drafters = draft.speculation.drafters;
  if (seat.failed() || drafters.empty()) return;
  guarded(draft, [&] {
    std::swap(draft.tree, drafters.front().tree);
    for (std::size_t i = 1; i < drafters.size(); ++i) draft.tree.graft(drafters[i].tree);
  });
  seat.member.tree = &draft.tree;
}

void Round::cut(Seat& seat) {
  SequenceDraft& draft = *seat.draft;
  const Speculation& speculation = draft.speculation;
  if (seat.failed() || speculation.drafters.empty()) return;
  if (seat.controller() != nullptr && seat.member.forecast.says_something()) {
    draft.forecast = seat.member.forecast;
  }
  int nodes = draft.info.room;
  const int merged = speculation.steering.tree_nodes;
  if (merged > 0 && speculation.drafters.size() > 1) nodes = std::min(nodes, merged);
  guarded(draft, [&] {
    if (!seat.member.kept.empty()) draft.tree.select(seat.member.kept);
    seat.reranker.keep_best(draft.tree, static_cast<std::size_t>(nodes));
  });
}

// --- What came of it -------------------------------------------------------------------------------------

Round::Seat& Round::seat_of(const SequenceDraft& draft) const {
  const auto found =
      std::find_if(batch_.begin(), batch_.end(), [&](const Seat* seat) { return seat->draft == &draft; });
  assert(found != batch_.end() && "what is observed has been drafted");
  return **found;
}

void Round::observe(std::span<SequenceDraft* const> drafts, std::span<const StepTrace> traces) {
  observed_.clear();
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    SequenceDraft& draft = *drafts[i];
    Seat& seat = seat_of(draft);
    observed_.push_back(&seat);
    seat.member.trace = &traces[i];
    if (seat.failed()) continue;
    guarded(draft, [&] {
      for (Speculator& with : draft.speculation.drafters) {
        with.begun = false;
        if (with.policy) with.policy->observe(traces[i]);
      }
    });
  }
  for_controllers(observed_, [](RoundController& controller, std::span<RoundMember* const> members) {
    controller.observe(members);
  });
}

}  // namespace augur
