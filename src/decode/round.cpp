#include "decode/round.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

#include "draft/common/text_rows.h"

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

bool failed(const SequenceDraft* draft) {
  return draft->failure != nullptr;
}

int turn_of(const SequenceDraft& draft, std::size_t speculator) {
  const int turn = draft.speculators[speculator].turn;
  return turn < 0 ? static_cast<int>(speculator) : turn;
}

/// Whether the nodes from `first` on are what was asked for: below the frontier, and not too many.
[[maybe_unused]] bool only_asked(const DraftTree& tree, std::int32_t first,
                                 std::span<const std::int32_t> frontier, int most) {
  if (tree.size() - first > most) return false;
  const auto parents = tree.parents().subspan(static_cast<std::size_t>(first));
  return std::all_of(parents.begin(), parents.end(), [&](std::int32_t parent) {
    return parent >= first || std::find(frontier.begin(), frontier.end(), parent) != frontier.end();
  });
}

}  // namespace

/// What all sequences share is allocated before the first of them is touched.
void Round::reserve(std::size_t drafts) {
  for (auto* some : {&batch_, &growing_, &level_, &active_}) some->reserve(drafts);
  jobs_.reserve(drafts);
  members_.reserve(drafts);
}

void Round::draft(std::span<SequenceDraft* const> drafts) {
  reserve(drafts.size());
  batch_.assign(drafts.begin(), drafts.end());
  begin();
  int turns = 0;
  for (const SequenceDraft* d : batch_) {
    if (!d->speculators.empty()) turns = std::max(turns, turn_of(*d, d->speculators.size() - 1) + 1);
  }
  for (int turn = 0; turn < turns; ++turn) draft_in_turn(turn);
  for (SequenceDraft* d : batch_) merge(*d);
  for_controllers(batch_, [](RoundController& controller, std::span<RoundMember* const> members) {
    controller.cut(members);
  });
  for (SequenceDraft* d : batch_) cut(*d);
}

/// Calls for the members of every controller.
template <class Call>
void Round::for_controllers(std::span<SequenceDraft* const> drafts, Call&& call) {
  for (std::size_t first = 0; first < drafts.size(); ++first) {
    RoundController* const controller = drafts[first]->controller.get();
    const auto same = [&](const SequenceDraft* d) { return d->controller.get() == controller; };
    if (controller == nullptr || failed(drafts[first])) continue;
    if (std::any_of(drafts.begin(), drafts.begin() + static_cast<std::ptrdiff_t>(first),
                    [&](const SequenceDraft* d) { return same(d) && !failed(d); })) {
      continue;
    }
    members_.clear();
    for (SequenceDraft* d : drafts) {
      if (same(d) && !failed(d)) members_.push_back(&d->member_);
    }
    try {
      call(*controller, std::span<RoundMember* const>(members_));
    } catch (...) {
      fail_all(controller, std::current_exception());
    }
  }
}

void Round::fail_all(const RoundController* controller, const std::exception_ptr& why) {
  for (SequenceDraft* d : batch_) {
    if (d->controller.get() == controller && !failed(d)) d->failure = why;
  }
}

/// Tells everybody about the batch that the round is part of.
void Round::begin() {
  for (SequenceDraft* d : batch_) {
    d->failure = nullptr;
    d->info.costs = &costs_;
    d->info.clock = &clock_;
    d->forecast = {};
    RoundMember& member = d->member_;
    member.text = d->text.get();
    member.info = d->info;
    member.drafters.clear();
    member.kept.clear();
    member.forecast = {};
    d->tree.reset(d->tokens.back(), d->info.context);
    d->drafted = 0;
    d->classify_ms = 0;
    d->early.reset();
    guarded(*d, [&] {
      member.sampled = d->draws();
      for (Speculator& with : d->speculators) begin_speculator(*d, with);
    });
  }
  for_controllers(batch_, [&](RoundController& controller, std::span<RoundMember* const> members) {
    // Of the others no more than their roots is known so far.
    const auto others = std::count_if(batch_.begin(), batch_.end(), [&](const SequenceDraft* d) {
      return d->controller.get() != &controller;
    });
    controller.begin(members, static_cast<int>(others));
  });
}

// --- One drafter of every sequence -----------------------------------------------------------------------

DraftCosts& Round::costs_of(const Speculator& with) {
  return costs_.drafter(with.name.empty() ? with.drafter->name() : std::string_view(with.name));
}

void Round::draft_in_turn(int turn) {
  active_.clear();
  for (SequenceDraft* d : batch_) {
    if (failed(d) || d->info.room < 1 || d->info.max_depth < 1) continue;
    for (std::size_t i = 0; i < d->speculators.size(); ++i) {
      if (turn_of(*d, i) != turn) continue;
      d->drafting_ = &d->speculators[i];
      d->member_.drafter = i;
      d->member_.tree = &d->drafting_->tree;
      active_.push_back(d);
    }
  }
  growing_ = active_;
  for (int level = 0; !growing_.empty(); ++level) grow_level(level);
  level_.clear();
  for (SequenceDraft* d : active_) {
    if (!d->drafting_->aborted) level_.push_back(d);
  }
  for_controllers(level_, [](RoundController& controller, std::span<RoundMember* const> members) {
    controller.drafted(members);
  });
  for (SequenceDraft* d : active_) {
    guarded(*d, [&] { end_speculator(*d); });
    guarded(*d, [&] { d->drafting_->drafter->end_round(); });
  }
}

void Round::begin_speculator(SequenceDraft& draft, Speculator& with) {
  with.tree.reset(draft.tokens.back(), draft.info.context);
  with.aborted = false;
  with.costs = &costs_of(with);
  with.rows = static_cast<int>(with.drafter->root_rows());
  with.group = with.alone ? with.drafter.get() : with.drafter->group();
  RoundInfo info = draft.info;
  info.drafter = with.drafter->traits();
  info.behind = with.rows;
  info.draft_costs = with.costs;
  if (draft.sampled && info.drafter.has_probabilities) with.tree.set_sampled(draft.vocab);
  if (with.policy) {
    if (std::exchange(with.begun, true)) with.policy->abandoned();
    with.policy->begin(info);
  }
  draft.member_.drafters.push_back(info);
}

/// For the next level: its policy's, or the one that the controller has planned.
void Round::ask_frontier(SequenceDraft& draft) {
  Speculator& with = *draft.drafting_;
  assert((with.policy || draft.controller) && "somebody steers a drafter");
  if (with.policy == nullptr) return;
  draft.member_.frontier.clear();
  with.policy->next_frontier(with.tree, draft.member_.frontier);
}

void Round::grow_level(int level) {
  for (SequenceDraft* d : growing_) d->member_.frontier.clear();
  for_controllers(growing_, [&](RoundController& controller, std::span<RoundMember* const> members) {
    controller.plan(level, members);
  });
  level_.clear();
  for (SequenceDraft* d : growing_) {
    Speculator& with = *d->drafting_;
    d->size_before_level_ = with.tree.size();
    if (!failed(d)) guarded(*d, [&] { ask_frontier(*d); });
    if (!failed(d) && !d->member_.frontier.empty()) level_.push_back(d);
  }
  // Drafters that share weights run as one batch.
  const auto group = [](const SequenceDraft* d) { return d->drafting_->group; };
  std::sort(level_.begin(), level_.end(), [&](const SequenceDraft* a, const SequenceDraft* b) {
    return std::less<>{}(group(a), group(b));
  });
  for (std::size_t begin = 0; begin < level_.size();) {
    std::size_t end = begin + 1;
    while (end < level_.size() && group(level_[end]) == group(level_[begin])) ++end;
    expand(std::span(level_).subspan(begin, end - begin), level);
    begin = end;
  }
  // Who added nothing has nothing more to say.
  std::erase_if(growing_, [](const SequenceDraft* d) {
    const Speculator& with = *d->drafting_;
    return failed(d) || with.aborted || with.tree.size() == d->size_before_level_;
  });
}

void Round::add_job(SequenceDraft& draft) {
  Speculator& with = *draft.drafting_;
  const RoundMember& member = draft.member_;
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
                               .text = draft.tokens,
                               .target_cache = draft.target_cache}});
}

/// Timed by itself: what a chunk takes is known apart from what the round's own rows do.
bool Round::run_chunk(Speculator& with) {
  if (with.drafter->root_rows() <= kTextChunk) return false;
  const Stopwatch watch(clock_);
  if (!with.drafter->run_chunk()) return false;
  costs_of(with).observe(0, kTextChunk, watch.ms());
  return true;
}

/// Of a long text that waits only the last rows are left to the level that all sequences share.
void Round::catch_up(Speculator& with) {
  while (run_chunk(with)) {
  }
  with.rows = static_cast<int>(with.drafter->root_rows());
}

void Round::relieve(SequenceDraft& draft) {
  for (Speculator& with : draft.speculators) {
    const TextRows* const rows = with.drafter->text_rows();
    while (rows != nullptr && rows->crowded() && run_chunk(with)) {
    }
  }
}

/// One level of drafters that run together. One that throws alone fails its sequence. Of several nobody knows
/// which it was, nor what the others' states are worth in this round: they draft nothing more in it, and
/// apart from now on.
void Round::expand(std::span<SequenceDraft*> group, int level) {
  jobs_.clear();
  int rows = 0;
  for (SequenceDraft* d : group) {
    if (level == 0 && !guarded(*d, [&] { catch_up(*d->drafting_); })) continue;
    if (!guarded(*d, [&] { add_job(*d); })) continue;
    group[jobs_.size() - 1] = d;
    rows += level == 0 ? d->drafting_->rows : static_cast<int>(d->member_.frontier.size());
  }
  group = group.first(jobs_.size());
  if (group.empty()) return;
  const Stopwatch watch(clock_);
  try {
    jobs_.front().drafter->expand_many(jobs_);
  } catch (...) {
    for (SequenceDraft* d : group) {
      if (group.size() == 1) d->failure = std::current_exception();
      Speculator& with = *d->drafting_;
      with.alone = with.aborted = true;
      with.tree.reset(d->tokens.back(), d->info.context);
    }
    return;
  }
  const double ms = watch.ms();
  group.front()->drafting_->costs->observe(level, rows, ms);
  for (std::size_t i = 0; i < group.size(); ++i) {
    assert(only_asked(*jobs_[i].tree, group[i]->size_before_level_, jobs_[i].frontier,
                      jobs_[i].options.max_nodes) &&
           "a drafter adds what it was asked for");
    guarded(*group[i], [&] { prune_illegal(*group[i], *jobs_[i].tree); });
  }
}

/// Drops what the text may not go on with, before anybody sees it: a node has one number from here on until
/// its policy prunes. Nodes that were there before the level stay where they are, so drafters may go on by
/// their numbers; they have run none of the new ones yet.
void Round::prune_illegal(SequenceDraft& draft, DraftTree& tree) {
  if (draft.masks != nullptr) draft.masks->prune(tree);
}

void Round::end_speculator(SequenceDraft& draft) {
  Speculator& with = *draft.drafting_;
  if (failed(&draft) || with.aborted) return;
  draft.drafted += with.tree.size() - 1;
  if (draft.on_draft) draft.on_draft(with.tree);
  if (with.policy) {
    with.policy->prune(with.tree);
    draft.classify_ms += with.policy->classify_ms();
    if (!draft.forecast.says_something()) draft.forecast = with.policy->forecast();
  } else {
    draft.reranker_.keep_best(with.tree, static_cast<std::size_t>(draft.info.room));
  }
  with.tree.limit_depth(draft.info.max_depth);
  if (with.tree.size() > draft.info.room + 1) with.tree.truncate(draft.info.room + 1);
  if (auto early = with.drafter->take_early_rows()) draft.early.emplace(std::move(*early));
}

// --- One tree of a sequence's drafts ---------------------------------------------------------------------

void Round::merge(SequenceDraft& draft) {
  if (failed(&draft) || draft.speculators.empty()) return;
  guarded(draft, [&] {
    std::swap(draft.tree, draft.speculators.front().tree);
    for (std::size_t i = 1; i < draft.speculators.size(); ++i) draft.tree.graft(draft.speculators[i].tree);
  });
  draft.member_.tree = &draft.tree;
}

void Round::cut(SequenceDraft& draft) {
  if (failed(&draft) || draft.speculators.empty()) return;
  if (draft.controller && draft.member_.forecast.says_something()) draft.forecast = draft.member_.forecast;
  int nodes = draft.info.room;
  if (draft.tree_nodes > 0 && draft.speculators.size() > 1) nodes = std::min(nodes, draft.tree_nodes);
  guarded(draft, [&] {
    if (!draft.member_.kept.empty()) draft.tree.select(draft.member_.kept);
    draft.reranker_.keep_best(draft.tree, static_cast<std::size_t>(nodes));
  });
}

// --- What came of it -------------------------------------------------------------------------------------

void Round::observe(std::span<SequenceDraft* const> drafts, std::span<const StepTrace> traces) {
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    SequenceDraft& draft = *drafts[i];
    draft.member_.trace = &traces[i];
    if (failed(&draft)) continue;
    guarded(draft, [&] {
      for (Speculator& with : draft.speculators) {
        with.begun = false;
        if (with.policy) with.policy->observe(traces[i]);
      }
    });
  }
  for_controllers(drafts, [](RoundController& controller, std::span<RoundMember* const> members) {
    controller.observe(members);
  });
}

}  // namespace augur
