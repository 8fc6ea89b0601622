#include <algorithm>
#include <functional>

#include "policy/auto/choose.h"

namespace augur {

/// Tokens, less the price of their time, that drafting is expected to add where nobody else has proposed the
/// next token with probability `unproposed`: of the best number of levels of the likeliest branch, with all
/// the siblings along it. Catching up is shared out over the rounds that the text has left.
Chooser::Prospect Chooser::prospect(const AutoSequence::Drafter& d, const Terms& terms, double unproposed,
                                    double errors) {
  const RoundInfo& round = d.round;
  if (round.room < 1) return {};
  if (round.drafter.one_shot)
    return {.net = d.gain - price_ * first_level_ms(d)};  // a mean of chances says nothing of it
  const int levels = std::min({round.max_depth, round.drafter.max_depth, kBranch});
  const double tokens_left = std::min(round.max_depth + 1.0, SequencePrediction::kLength);
  const double catch_up = price_ * catch_up_ms(d);
  const double now = best(terms).net;
  double ms = first_level_ms(d);
  double chance = unproposed;
  double round_tokens = 1;
  Prospect most;
  more_.clear();
  for (int level = 1; level <= levels && chance >= terms.threshold; ++level) {
    const auto children = d.prediction.expected(level, d.drawn, errors);
    double tokens = 0;
    for (std::size_t rank = 0; rank < children.size() && chance * children[rank] >= terms.threshold; ++rank) {
      more_.push_back(static_cast<float>(chance * children[rank]));
      tokens += chance * children[rank];
    }
    round_tokens += tokens;
    std::sort(more_.begin(), more_.end(), std::greater<>());
    const double net = best(terms, more_).net - now - price_ * ms;
    const double rounds = std::max(1.0, tokens_left / round_tokens);
    if (net - catch_up / rounds > most.net) most = {net - catch_up / rounds, net * rounds};
    const double next_ms = level_ms(d, level, static_cast<int>(sequences_)) / sequences_;
    if (tokens <= price_ * next_ms) break;  // a further one adds no more tokens than this one
    ms += next_ms;
    chance *= children[0];
  }
  return most;
}

/// Of one level over the rows of a whole batch; the first one's with what it slows the target's step down.
/// What was never timed is tried.
double Chooser::level_ms(const AutoSequence::Drafter& d, int level, int rows) const {
  const DraftCosts& costs = *d.round.draft_costs;
  if (!costs.measured()) return 0;
  return costs.level_ms(level, rows) + (level == 0 ? (costs.slowdown() - 1) * base_ms_ : 0);
}

/// Tokens that a drafter catches up with in a round like the last ones, the root included.
int Chooser::usual_rows(const AutoSequence::Drafter& d) const {
  return std::min(d.round.behind, 1 + static_cast<int>(rate_.tokens()));
}

/// A sequence's share of a first level in which all take part.
double Chooser::first_level_ms(const AutoSequence::Drafter& d) const {
  return level_ms(d, 0, usual_rows(d) * static_cast<int>(sequences_)) / sequences_;
}

/// What it takes to catch up with more than that: with a prompt, with what was written without it.
double Chooser::catch_up_ms(const AutoSequence::Drafter& d) const {
  const DraftCosts& costs = *d.round.draft_costs;
  if (!costs.measured()) return 0;
  return std::max(0.0, costs.catch_up_ms(d.round.behind) - costs.level_ms(0, usual_rows(d)));
}

/// Whether a first level would surely pay, or the budget bears it.
bool Chooser::can_be_paid_for(const AutoSequence::Drafter& d, double unproposed) {
  const double row_ms = now_.row_ms[std::min<std::size_t>(1, now_.row_ms.size() - 1)];
  return budget_.affords(steps(draft_ms_ + first_level_ms(d) + row_ms)) ||
         prospect(d, now_, unproposed, -kCaution).net > 0;
}

/// The same, less what would be lost of what the drafters after it are worth: two that say the same are worth
/// one. For those that will not be asked because nothing pays for it nobody makes way.
double Chooser::net_beside_others(const AutoSequence& sequence, std::size_t index) {
  const double unproposed = sequence.unproposed_value();
  const AutoSequence::Drafter& d = sequence.drafters[index];
  const double own = prospect(d, now_, unproposed, kOptimism).net;
  if (own <= 0) return 0;
  const double unproposed_then = unproposed * (1 - d.prediction.expected(1, d.drawn, 0)[0]);
  double best_before = 0;
  double best_after = 0;
  for (std::size_t other = index + 1; other < sequence.drafters.size(); ++other) {
    if (!can_be_paid_for(sequence.drafters[other], unproposed)) continue;
    best_before = std::max(best_before, prospect(sequence.drafters[other], now_, unproposed, kOptimism).net);
    best_after =
        std::max(best_after, prospect(sequence.drafters[other], now_, unproposed_then, kOptimism).net);
  }
  return own + best_after - best_before;
}

}  // namespace augur
