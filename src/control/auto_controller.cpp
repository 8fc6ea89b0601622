#include "control/auto_controller.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace augur {
namespace {

constexpr std::size_t kUsual = 512;
/// A drafter that takes less of a plain step than this is free: it drafts whenever it can.
constexpr double kFreeShare = 0.02;
/// Rounds that a drafter's gain is averaged over, for this sequence and for the engine.
constexpr double kGainMemory = 24;
constexpr double kSharedGainMemory = 48;
/// What a new sequence takes over from the engine counts as so many rounds; what a probe meets, so many.
constexpr double kInherited = 6;
constexpr double kBeforeProbe = 3;
/// Nodes that a probe verifies at least, so that something is learned.
constexpr std::size_t kProbeNodes = 2;
/// Actual over expected time, as far as one round is believed.
constexpr double kMostRatio = 1.5;
/// A gain is divided by the chance that was left to it; less than this tells too little.
constexpr double kLeastOpen = 0.1;

}  // namespace

AutoController::AutoController(Beliefs& beliefs, std::span<const Seat> seats) : beliefs_(beliefs) {
  for (const Seat& seat : seats) {
    SeatState state;
    state.belief = &beliefs.drafters[seat.name];
    state.lookup = seat.lookup;
    state.gain = state.belief->gain;
    state.gain.tokens.limit(kInherited);
    state.gain.ms.limit(kInherited);
    seats_.push_back(state);
  }
  candidates_.reserve(2 * kUsual);
  surest_.reserve(kUsual);
  chances_.reserve(kUsual);
  order_.reserve(kUsual);
  falling_.reserve(kUsual);
}

void AutoController::begin_round(const RoundInfo& round, bool sampled) {
  round_ = round;
  sampled_ = sampled;
  sequences_ = std::max(1, round.sequences);
  const auto context = static_cast<double>(round.context);
  const CostModel& costs = *round.costs;
  plain_ms_ = (costs.verify_ms(sequences_, context) + costs.other_ms()) / sequences_;
  price_ = beliefs_.price.tokens_per_ms(1 / plain_ms_);
  base_rows_ = 1.0 + std::max(round.other_rows, sequences_ - 1);
  plan_.begin(costs, context, base_rows_, price_, std::min(round.room, VerifyPlan::kMostNodes));
  allowed_ = round.room > 0 && round.max_depth > 0 && ledger_.allows(0, plain_ms_);
  probe_ = -1;
  favourite_ = -1;
  draft_ms_ = 0;
  covered_ = 0;
  candidates_.clear();
  for (SeatState& seat : seats_) seat.drafts = false;
  forecast_ = {};
}

// --- Who drafts ------------------------------------------------------------------------------------------

bool AutoController::is_free(const SeatState& seat, const RoundInfo& round) const {
  if (!round.draft_costs->measured()) return seat.lookup;
  return round.draft_costs->level_ms(0, 1) < kFreeShare * plain_ms_;
}

/// Tokens by which a round with the drafter is expected to be better than one without.
double AutoController::value(const SeatState& seat) const {
  return seat.gain.tokens.mean() * (1 - covered_) - price_ * seat.gain.ms.mean();
}

double AutoController::risk_ms(const SeatState& seat, const RoundInfo& round) const {
  if (seat.gain.ms.count() > 0) return seat.gain.ms.mean();
  const int levels = round.drafter.one_shot ? 1 : 2;
  constexpr int kNodes = 4;
  return round.draft_costs->total_ms(levels, 1) + plan_.cost(std::min(kNodes, plan_.most_nodes())) / price_;
}

bool AutoController::engages(std::size_t index, const RoundInfo& round) {
  SeatState& seat = seats_[index];
  if (favourite_ < 0) {
    // The first that pays for drafting is asked; whom nobody has tried goes first.
    double best = 0;
    favourite_ = static_cast<int>(seats_.size());
    for (std::size_t i = index; i < seats_.size(); ++i) {
      const bool untried = seats_[i].gain.tokens.count() == 0;
      if (untried || value(seats_[i]) > best) {
        best = untried ? 1e9 : value(seats_[i]);
        favourite_ = static_cast<int>(i);
        if (untried) break;
      }
    }
  }
  const bool turn = static_cast<int>(index) >= favourite_;
  const bool pays = seat.gain.tokens.count() == 0 ? static_cast<int>(index) == favourite_ : value(seat) > 0;
  if (turn && pays && ledger_.allows(risk_ms(seat, round), plain_ms_)) {
    if (seat.gain.tokens.count() == 0) {
      probe_ = static_cast<int>(index);
    } else {
      seat.probes.in_use();
    }
    return true;
  }
  seat.probes.wait();
  if (probe_ < 0 && seat.probes.due() && ledger_.allows(risk_ms(seat, round), plain_ms_)) {
    probe_ = static_cast<int>(index);
    seat.gain.tokens.limit(kBeforeProbe);
    seat.gain.ms.limit(kBeforeProbe);
    return true;
  }
  return false;
}

bool AutoController::wants(std::size_t index, const RoundInfo& round) {
  if (!allowed_) return false;
  SeatState& seat = seats_[index];
  seat.paid = !is_free(seat, round);
  if (!seat.paid) return true;
  if (!engages(index, round)) return false;
  seat.drafts = true;
  seat.open_share = std::max(kLeastOpen, 1 - covered_);
  seat.without = plan_.best(candidates_);
  seat.drafted_before_ms = draft_ms_;
  return true;
}

void AutoController::add_candidates(std::span<const float> probabilities) {
  candidates_.insert(candidates_.end(), probabilities.begin(), probabilities.end());
  std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
}

// --- What is verified ------------------------------------------------------------------------------------

/// P of every node of the merged tree.
void AutoController::weigh(const DraftTree& tree) {
  const auto size = static_cast<std::size_t>(tree.size());
  surest_.assign(size, 1.0f);
  chances_.assign(size, 1.0f);
  for (std::size_t node = 1; node < size; ++node) {
    const auto parent = static_cast<std::size_t>(tree.parents()[node]);
    const double a = std::exp(static_cast<double>(tree.scores()[node] - tree.scores()[parent]));
    surest_[node] = static_cast<float>(std::min(a, Calibrator::kMost));
    const ProposerSet set = tree.proposer_sets()[node];
    const bool agreed = !sampled_ && (set & (set - 1)) != 0;
    const double chance = agreed ? beliefs_.agreement.acceptance(a) : static_cast<double>(surest_[node]);
    chances_[node] = chances_[parent] * static_cast<float>(chance);
  }
}

/// Orders the nodes by falling P; how many of them are to be verified.
std::size_t AutoController::choose(const DraftTree& tree) {
  order_.clear();
  for (std::int32_t node = 1; node < tree.size(); ++node) order_.push_back(node);
  std::sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
    const float pa = chances_[static_cast<std::size_t>(a)];
    const float pb = chances_[static_cast<std::size_t>(b)];
    return pa != pb ? pa > pb : a < b;
  });
  falling_.clear();
  for (const std::int32_t node : order_) falling_.push_back(chances_[static_cast<std::size_t>(node)]);
  auto count = static_cast<std::size_t>(plan_.best(falling_).nodes);
  if (count == 0 && !order_.empty()) {
    // Something was proposed and is not believed. Now and then it is verified all the same.
    starved_.wait();
    if (probe_ < 0 && starved_.due()) probe_ = static_cast<int>(seats_.size());
  }
  if (probe_ >= 0) count = std::max(count, std::min(kProbeNodes, order_.size()));
  count = std::min(count, static_cast<std::size_t>(plan_.most_nodes()));
  while (count > 0 && !ledger_.allows(draft_ms_ + plan_.cost(static_cast<int>(count)) / price_, plain_ms_)) {
    count /= 2;
  }
  return count;
}

void AutoController::cut(DraftTree& tree) {
  double tokens = 1;
  std::size_t count = 0;
  if (tree.size() > 1) {
    weigh(tree);
    count = choose(tree);
    for (std::size_t i = 0; i < count; ++i) tokens += static_cast<double>(falling_[i]);
    order_.resize(count);
    order_.push_back(DraftTree::kRoot);
    std::sort(order_.begin(), order_.end());
    tree.select(order_);
    // What was weighed follows its nodes.
    for (std::size_t to = 0; to < order_.size(); ++to) {
      surest_[to] = surest_[static_cast<std::size_t>(order_[to])];
      chances_[to] = chances_[static_cast<std::size_t>(order_[to])];
    }
  }
  const bool drafted = std::any_of(seats_.begin(), seats_.end(), [](const SeatState& s) { return s.drafts; });
  const auto context = static_cast<double>(round_.context);
  const double rows = base_rows_ + static_cast<double>(count);
  forecast_.mode = probe_ >= 0            ? RoundMode::Probe
                   : count > 0 || drafted ? RoundMode::Speculate
                                          : RoundMode::Plain;
  forecast_.tokens = tokens;
  forecast_.ms = draft_ms_ +
                 round_.costs->verify_ms(rows, context) * (1 + static_cast<double>(count)) / rows +
                 round_.costs->other_ms() / sequences_;
  forecast_.price = price_;
}

// --- What came of it ---------------------------------------------------------------------------------------

/// The children of every accepted node: one of them may have been right.
void AutoController::learn_outcomes(const StepTrace& trace) {
  const DraftTree& tree = *trace.tree;
  for (std::size_t i = 0; i < trace.path.size(); ++i) {
    const std::int32_t next = i + 1 < trace.path.size() ? trace.path[i + 1] : -1;
    int rank = 0;
    for (std::int32_t c = tree.first_child(trace.path[i]); c >= 0; c = tree.next_sibling(c), ++rank) {
      const auto node = static_cast<std::size_t>(c);
      const ProposerSet set = tree.proposer_sets()[node];
      const int depth = tree.depths()[node];
      const bool accepted = c == next;
      if ((set & (set - 1)) != 0) {
        beliefs_.agreement.observe(static_cast<double>(surest_[node]), accepted);
        continue;
      }
      const std::size_t seat = tree.proposers()[node] - 1u;
      if (seat >= seats_.size()) continue;
      DrafterBelief& belief = *seats_[seat].belief;
      if (sampled_) {
        belief.drawn_profile.observe(depth, rank, accepted ? 1.0 : 0.0);
      } else {
        belief.calibrator.observe(static_cast<double>(tree.log_probs()[node]), depth, accepted);
      }
    }
  }
}

/// What every paid drafter of the round has brought, over what had been drafted before it. The last one's
/// share is measured; for the others it is what was expected when the next one began.
void AutoController::learn_gains(double tokens, double extra_ms) {
  double after_tokens = tokens - 1;
  double after_ms = extra_ms;
  for (std::size_t i = seats_.size(); i-- > 0;) {
    SeatState& seat = seats_[i];
    if (!seat.drafts) continue;
    const double before_ms = seat.drafted_before_ms + plan_.cost(seat.without.nodes) / price_;
    const double gained = (after_tokens - seat.without.tokens) / seat.open_share;
    const double took = after_ms - before_ms;
    seat.gain.tokens.observe(gained, kGainMemory);
    seat.gain.ms.observe(took, kGainMemory);
    seat.belief->gain.tokens.observe(gained, kSharedGainMemory);
    seat.belief->gain.ms.observe(took, kSharedGainMemory);
    if (probe_ == static_cast<int>(i)) {
      const bool paid_off = after_tokens - seat.without.tokens > price_ * took;
      paid_off ? seat.probes.succeeded() : seat.probes.failed();
    }
    after_tokens = seat.without.tokens;
    after_ms = before_ms;
  }
}

void AutoController::observe(const StepTrace& trace) {
  const auto context = static_cast<double>(trace.context);
  const auto tokens = static_cast<double>(trace.path.size());
  const double ms = trace.draft_ms + trace.verify_ms + trace.other_ms;
  beliefs_.price.observe(tokens, ms);
  ledger_.pass(ms);
  if (forecast_.mode == RoundMode::Plain) return;

  const auto nodes = static_cast<double>(trace.tree->size() - 1);
  const auto rows = static_cast<double>(trace.batch_rows);
  const double expected = round_.costs->verify_ms(rows, context);
  const double actual = trace.verify_ms * rows / (nodes + 1);
  const double ratio = std::clamp(actual / expected, 1 / kMostRatio, kMostRatio);
  const double verify_ms = ratio * (expected - round_.costs->verify_ms(rows - nodes, context));
  const double draft_ms = std::min(trace.draft_ms, kMostRatio * draft_ms_ + kFreeShare * plain_ms_);
  // The bound holds for what came, however good it was expected to be.
  ledger_.book((tokens - 1) * plain_ms_ - verify_ms - draft_ms, plain_ms_);
  // Half of what was expected and half of what came: the first has less noise, the second no bias.
  learn_gains(0.5 * (tokens + forecast_.tokens), draft_ms_ + verify_ms);
  if (probe_ == static_cast<int>(seats_.size())) tokens > 1 ? starved_.succeeded() : starved_.failed();
  if (nodes > 0) learn_outcomes(trace);
}

}  // namespace augur
