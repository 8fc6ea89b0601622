#include <algorithm>
#include <utility>

#include "policy/auto/choose.h"

namespace augur {
namespace {

/// What is hoped, rather than believed, to be won by catching up is to be so many times what it takes; and
/// plain steps of it for which a first token may be kept waiting.
constexpr double kMargin = 1.5;

}  // namespace

/// Whether the drafter may catch up with the text, beside what of that is granted in this round already, and
/// what pays for it: the round, where all together passes by; what is won later, where it is
/// believed to pay over the text that is left, or the budget bears it; else the budget's balance.
bool Chooser::may_catch_up(const AutoSequence& sequence, const AutoSequence::Drafter& d, double granted,
                           DrafterBid& bid) {
  bid.catch_up_ms = catch_up_ms(d);
  const double cost = steps(bid.catch_up_ms);
  if (cost == 0 || granted + cost <= AutoSequence::kPassingBy) return true;
  if (sequence.rounds == 0 && granted + cost > kMargin) return false;
  // It has to pay beside those, too, whose prompts are being read now.
  const double coming_cost = bid.catch_up_ms / coming_.step_ms;
  const double unproposed = sequence.unproposed_value();
  const bool pays = prospect(d, coming_, unproposed, -kCaution).net > 0;
  const Prospect hope = prospect(d, coming_, unproposed, kOptimism);
  const double won_back = hope.sequence_gain / (price_ * coming_.step_ms);
  const bool invested = pays || (!d.tried_before && won_back > kMargin * coming_cost &&
                                 budget_.bears(investing_ + coming_cost, won_back));
  if (!invested) return hope.net > 0 && budget_.affords(draft_ms_ / coming_.step_ms + coming_cost);
  investing_ += coming_cost;
  bid.invested_steps = coming_cost;
  bid.catch_up_ms = 0;
  return true;
}

/// What has not been worth it until now, but learns, is asked so often that it takes a small share of the
/// time: what it says then is all the evidence there is.
bool Chooser::may_look(AutoSequence::Drafter& d) {
  if (!d.round.drafter.learns || d.round.room < 1) return false;
  const double cost = steps(first_level_ms(d) + catch_up_ms(d));
  if (cost > d.look_steps) return false;
  d.look_steps -= cost;
  return true;
}

void Chooser::choose_drafters(std::span<RoundMember* const> growing) {
  drafter_bids_.clear();
  for (std::size_t m = 0; m < growing.size() && !plain_; ++m) {
    const AutoSequence& sequence = sequence_of(*growing[m]);
    // One price for the level, whoever is in it: it is taken off below.
    const double level = price_ * first_level_ms(drafter_of(*growing[m]));
    const DrafterBid bid{.gain = net_beside_others(sequence, growing[m]->drafter) + level,
                         .member = static_cast<std::uint32_t>(m)};
    if (bid.gain > level || bid.gain > kNegligible) drafter_bids_.push_back(bid);
  }
  std::sort(drafter_bids_.begin(), drafter_bids_.end());
  const double invested_before = investing_;
  std::size_t may_draft = 0;  // the first of the bids
  std::size_t chosen = 0;     // the first of these
  double granted = 0;
  double gain = 0;
  double most = 0;
  double spent_ms = 0;
  double charged_ms = 0;
  int rows = 0;
  for (DrafterBid bid : drafter_bids_) {
    const AutoSequence& sequence = sequence_of(*growing[bid.member]);
    const AutoSequence::Drafter& d = drafter_of(*growing[bid.member]);
    if (!may_catch_up(sequence, d, granted, bid)) continue;
    granted += steps(bid.catch_up_ms) + bid.invested_steps;
    drafter_bids_[may_draft++] = bid;
    rows += usual_rows(d);
    charged_ms += bid.catch_up_ms;
    gain += bid.gain - kNegligible;
    const bool before = below_confidence_bound_;
    below_confidence_bound_ = before || prospect(d, now_, sequence.unproposed_value(), -kCaution).net <= 0;
    const double level = level_ms(d, 0, rows);
    if (!affords(charged_ms + level, std::min(now_.row_ms.size() - 1, candidates_.size() + may_draft))) {
      below_confidence_bound_ = before;
      break;
    }
    if (gain - price_ * level <= most) continue;
    most = gain - price_ * level;
    chosen = may_draft;
    spent_ms = charged_ms + level;
  }
  investing_ = invested_before;
  draft_ms_ += spent_ms;
  if (chosen > 0) slowdown_ *= drafter_of(*growing[drafter_bids_[0].member]).round.draft_costs->slowdown();
  for (std::size_t k = 0; k < chosen; ++k) {
    investing_ += drafter_bids_[k].invested_steps;
    begin_drafting(*growing[drafter_bids_[k].member]);
  }
  for (RoundMember* member : growing) {
    AutoSequence::Drafter& d = drafter_of(*member);
    if (d.drafts || plain_ || !may_look(d)) continue;
    draft_ms_ += first_level_ms(d);
    begin_drafting(*member);
  }
}

void Chooser::begin_drafting(RoundMember& member) {
  AutoSequence::Drafter& d = drafter_of(member);
  d.drafts = d.tried_before = true;
  member.frontier.assign(1, DraftTree::kRoot);
  const int room = std::min(kBranch, d.round.room);
  member.width = !d.round.drafter.one_shot   ? children_above_threshold(d, 1.0f, 1)
                 : d.round.drafter.branching ? room
                                             : std::min(room, d.round.max_depth);
}

}  // namespace augur
