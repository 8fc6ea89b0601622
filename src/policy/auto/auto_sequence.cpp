#include "policy/auto/auto_sequence.h"

#include <algorithm>

#include "cost/yardsticks.h"
#include "policy/auto/budget.h"

namespace augur {
namespace {

/// Of a look-up before anything was seen, in tokens: it is mostly silent, and right in half of the cases or
/// more when it is not. What a text's drafts show replaces that.
constexpr double kFirstGain = 0.3;
constexpr double kMostTokenValue = 4;  ///< of a token of a text that is late

}  // namespace

AutoSequence::Drafter::Drafter(DrafterBelief& belief) : prediction(belief), gain(kFirstGain) {
  candidates.reserve(kMostNodes);
}

void AutoSequence::Drafter::begin_round(const RoundInfo& info, bool sampled, double sequences) {
  round = info;
  drafts = false;
  drawn = sampled && round.drafter.has_probabilities;
  candidates.assign(1, {.accepted = true});
  newest = 0;
  prediction.pass(round.drafter.learns);
  look_steps = std::min(look_steps + Budget::kShare / sequences, AutoSequence::kPassingBy);
}

double AutoSequence::Drafter::chance(float log_prob, int depth, int rank, double errors) const {
  if (!drawn) return prediction.acceptance(static_cast<double>(log_prob), depth, errors);
  const auto children = prediction.expected(depth, true, errors);
  return children[static_cast<std::size_t>(std::min(rank, RankProfile::kRanks - 1))];
}

void AutoSequence::Drafter::learn_gain(double added) {
  gain += kRecent / 2 * (added - gain);
}

/// A token is worth as many as the text needs in this round to be in time again,
/// A(r) = (l + t_spec) / TPOT - o of AdaServe (arXiv 2501.12162), whose requests in need are served by
/// falling A(r). Here they bid against the others in the one price.
void AutoSequence::set_token_value(const RoundInfo& info, double step_ms) {
  const double needed = info.tpot_ms > 0 ? (info.late_ms + step_ms) / info.tpot_ms : 1;
  token_value = std::clamp(needed, 1.0, kMostTokenValue);
  for (Drafter& d : drafters) d.candidates.front().chance = static_cast<float>(token_value);
}

void AutoSequence::learn(const StepTrace& trace) {
  const auto known = static_cast<int>(trace.path.size());  // depths of which the right token is known
  for (AutoSequence::Drafter& d : drafters) {
    if (!d.drafts) continue;
    for (std::size_t n = 1; n < d.candidates.size(); ++n) {
      AutoSequence::Candidate& c = d.candidates[n];
      if (c.depth > known || !d.candidates[static_cast<std::size_t>(c.parent)].accepted) continue;
      const TokenId right =
          c.depth < known
              ? trace.tree->tokens()[static_cast<std::size_t>(trace.path[static_cast<std::size_t>(c.depth)])]
              : trace.next;
      c.accepted = c.token == right;
      if (d.drawn) {
        d.prediction.drawn_outcome(c.depth, c.rank, c.accepted);
      } else {
        d.prediction.outcome(static_cast<double>(c.log_prob), c.depth, c.accepted);
      }
    }
  }
  ++rounds;
}

}  // namespace augur
