#include "policy/auto/auto_controller.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace augur {
namespace {

constexpr std::size_t kUsual = 512;
/// A drafter that takes less of a plain step than this is free: it drafts whenever it can.
constexpr double kFreeShare = 0.02;
/// Rounds that a drafter's gain is averaged over, for this sequence and for the engine. A round's outcome
/// varies by more than a token, and a drafter may be worth a tenth of one.
constexpr double kGainMemory = 64;
constexpr double kSharedGainMemory = 256;
/// What a new sequence takes over from the engine counts as so many rounds; what a probe meets, so many.
constexpr double kInherited = 16;
constexpr double kBeforeProbe = 4;
/// Rounds in a row that a drafter is tried for, when nobody has tried it and when it is probed: fewer tell
/// luck from use too badly.
constexpr int kFirstTrial = 8;
constexpr int kProbeTrial = 3;
/// Nodes that a probe verifies at least, so that something is learned.
constexpr std::size_t kProbeNodes = 2;
/// Share of the forecast in what a round is taken to have brought, and the outcomes after which it is half
/// of that.
constexpr double kMostTrust = 0.6;
constexpr double kOutcomesForTrust = 24;
/// Tokens that a text may have been credited with in all beyond what came, and likewise fallen short of: luck
/// is smoothed out, failing drafts are not paid for by their forecasts.
constexpr double kMostPromised = 1.0;
/// How quickly it shows that forecasts have become wrong. By then a drafter's past says little of it.
constexpr double kBiasRate = 1.0 / 8;
constexpr double kWrong = 0.5;
constexpr double kAfterWrong = 8;
/// Actual over expected time, as far as one round is believed.
constexpr double kMostRatio = 1.5;
/// A gain is divided by the chance that was left to it; less than this tells too little.
constexpr double kLeastOpen = 0.1;

double debt(const Ledger& ledger) {
  return std::min(0.0, ledger.balance());
}

}  // namespace

AutoController::AutoController(Beliefs& beliefs, std::span<const Seat> seats)
    : beliefs_(beliefs),
      text_(Ledger::kMostSaved, debt(beliefs.free_series)),
      paid_debt_(debt(beliefs.paid_series)),
      probe_credit_(Ledger::kProbeCredit +
                    std::clamp(beliefs.free_series.balance() + beliefs.paid_series.balance(), 0.0,
                               Ledger::kMostHandedOn)) {
  for (const Seat& seat : seats) {
    SeatState state;
    state.belief = &beliefs.drafters[seat.name];
    state.lookup = seat.lookup;
    state.gain = state.belief->gain;
    state.gain.tokens.limit(kInherited);
    state.gain.ms.limit(kInherited);
    state.first = state.gain.tokens.count() == 0;
    state.probes = ProbeSchedule(state.belief->probe_interval);
    seats_.push_back(state);
  }
  candidates_.reserve(2 * kUsual);
  surest_.reserve(kUsual);
  companies_.reserve(kUsual);
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
  if (costs.confirmed()) beliefs_.plain_check.defer();
  // A share of what is left, so that no row of bad luck uses it up.
  stake_ms_ = left_ms(Ledger::kCredit) / Ledger::kRounds;
  allowed_ =
      round.room > 0 && round.max_depth > 0 && !beliefs_.plain_check.due() && may_lose(0, Ledger::kCredit);
  wide_ = false;
  probe_ = -1;
  favourite_ = -1;
  draft_ms_ = 0;
  arrears_ms_ = 0;
  excused_ms_ = 0;
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

/// Tokens by which a round with the drafter is expected to be better than one without, where those before it
/// leave it this share of what can be right.
double AutoController::value(const SeatState& seat, double open) const {
  return seat.gain.tokens.mean() * open - price_ * seat.gain.ms.mean();
}

/// Whether a drafter that has drafted would be used from now on: it pays, and more than those that would
/// draft in its place.
bool AutoController::pays(std::size_t index) const {
  const double open = seats_[index].open_share;
  const double own = value(seats_[index], open);
  return own > kLeastValue && std::none_of(seats_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                                           seats_.end(), [&](const SeatState& later) {
                                             return later.gain.tokens.count() > 0 && value(later, open) > own;
                                           });
}

/// Time that the drafter needs to catch up with what was written without it.
double AutoController::arrears_ms(const SeatState& seat, const RoundInfo& round) const {
  if (seat.up_to_date) return 0;
  return std::max(0.0, round.draft_costs->level_ms(0, round.behind) - round.draft_costs->level_ms(0, 1));
}

/// Beginning with the prompt is no loss: who drafts at all has to. But who need not draft, as it did not pay
/// for other texts, need not begin.
bool AutoController::excused(const SeatState& seat) const {
  return !seat.begun && (seat.first || value(seat) > kLeastValue);
}

double AutoController::risk_ms(const SeatState& seat, const RoundInfo& round) const {
  const double rows = plan_.cost(std::min(static_cast<int>(kProbeNodes), plan_.most_nodes())) / price_;
  return round.draft_costs->level_ms(0, 1) + rows + (excused(seat) ? 0 : arrears_ms(seat, round));
}

/// Of a drafter that nobody has tried: whether, by its costs and by what drafters' candidates are usually
/// worth, a chain of some length with its first siblings would pay.
bool AutoController::promises(const SeatState& seat, const RoundInfo& round) {
  const RankProfile& profile = sampled_ ? seat.belief->drawn_profile : seat.belief->profile;
  const int levels = std::min({round.max_depth, round.drafter.max_depth, RankProfile::kDepths});
  double chance = 1;
  double ms = 0;
  falling_.assign(candidates_.begin(), candidates_.end());
  const double without = plan_.best(falling_).net;
  for (int level = 0; level < levels; ++level) {
    if (level == 0 || !round.drafter.one_shot) ms += round.draft_costs->level_ms(level, 1);
    for (int rank = 0; rank < RankProfile::kRanks; ++rank) {
      falling_.push_back(static_cast<float>(chance * (1 - covered_) * profile.at(level + 1, rank)));
    }
    chance *= profile.at(level + 1, 0);
    std::sort(falling_.begin(), falling_.end(), std::greater<>());
    if (plan_.best(falling_).net - without - price_ * ms > kLeastValue) return true;
  }
  return false;
}

bool AutoController::engages(std::size_t index, const RoundInfo& round) {
  SeatState& seat = seats_[index];
  const double risk = risk_ms(seat, round);
  const double credit = Ledger::kCredit + paid_debt_;
  if (seat.trial == 0 && seat.gain.tokens.count() == 0 && probe_ < 0 && may_lose(risk, credit) &&
      promises(seat, round)) {
    seat.trial = kFirstTrial;  // nobody knows anything of it
    seat.credit = credit;
  }
  if (seat.trial == 0) {
    if (favourite_ < 0) favour(index);
    if (static_cast<int>(index) >= favourite_ && value(seat) > kLeastValue && may_lose(risk, credit)) {
      seat.probes.in_use();
      seat.in_use = true;
      stake_ms_ = std::min(stake_ms_, left_ms(credit) / Ledger::kRounds);
      return true;
    }
    if (seat.in_use && probe_ < 0) retire(index);  // a probe may take its place for a while
    seat.probes.wait();
    if (probe_ >= 0 || !seat.probes.due() || !may_lose(risk, probe_credit_ + paid_debt_)) return false;
    seat.trial = kProbeTrial;
    seat.credit = probe_credit_ + paid_debt_;
    seat.gain.tokens.limit(kBeforeProbe);
    seat.gain.ms.limit(kBeforeProbe);
  }
  if (probe_ >= 0 || !may_lose(risk, seat.credit)) return false;
  probe_ = static_cast<int>(index);
  stake_ms_ = std::min(stake_ms_, left_ms(seat.credit));
  return true;
}

/// The first of the drafters that pay for their time: `from` or a later one.
void AutoController::favour(std::size_t from) {
  double best = kLeastValue;
  favourite_ = static_cast<int>(seats_.size());
  for (std::size_t i = from; i < seats_.size(); ++i) {
    if (seats_[i].gain.tokens.count() == 0 || value(seats_[i]) <= best) continue;
    best = value(seats_[i]);
    favourite_ = static_cast<int>(i);
  }
}

/// A drafter no longer pays. That others did not pay beside it says little of what they are worth without it.
void AutoController::retire(std::size_t index) {
  seats_[index].in_use = false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (i != index) seats_[i].probes = ProbeSchedule(seats_[i].probes.interval());
  }
}

bool AutoController::wants(std::size_t index, const RoundInfo& round) {
  SeatState& seat = seats_[index];
  if (!allowed_) {
    seat.up_to_date = false;
    return false;
  }
  seat.paid = !is_free(seat, round);
  if (!seat.paid) return true;
  if (!engages(index, round)) {
    seat.up_to_date = false;
    return false;
  }
  seat.drafts = true;
  seat.open_share = std::max(kLeastOpen, 1 - covered_);
  seat.without = plan_.best(candidates_);
  seat.drafted_before_ms = draft_ms_ - arrears_ms_;
  // Catching up says nothing of what drafting costs from now on.
  const double arrears = arrears_ms(seat, round);
  arrears_ms_ += arrears;
  if (excused(seat)) excused_ms_ += arrears;
  seat.begun = seat.up_to_date = true;
  return true;
}

void AutoController::add_candidates(std::span<const float> probabilities) {
  candidates_.insert(candidates_.end(), probabilities.begin(), probabilities.end());
  std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
}

// --- What is verified ------------------------------------------------------------------------------------

/// What to make of the drafters' being of one opinion about a node, or of several. Null: one drafter alone
/// says something of its place.
Agreement* AutoController::company(const DraftTree& tree, std::size_t node) const {
  if (sampled_) return nullptr;
  const ProposerSet set = tree.proposer_sets()[node];
  if ((set & (set - 1)) != 0) return &beliefs_.agreed;
  for (std::int32_t c = tree.first_child(tree.parents()[node]); c >= 0; c = tree.next_sibling(c)) {
    if (tree.proposer_sets()[static_cast<std::size_t>(c)] != set) return &beliefs_.contested;
  }
  return nullptr;
}

/// P of every node of the merged tree.
void AutoController::weigh(const DraftTree& tree) {
  const auto size = static_cast<std::size_t>(tree.size());
  surest_.assign(size, 1.0f);
  companies_.assign(size, nullptr);
  chances_.assign(size, 1.0f);
  for (std::size_t node = 1; node < size; ++node) {
    const auto parent = static_cast<std::size_t>(tree.parents()[node]);
    const double a = std::exp(static_cast<double>(tree.scores()[node] - tree.scores()[parent]));
    surest_[node] = static_cast<float>(std::min(a, Calibrator::kMost));
    companies_[node] = company(tree, node);
    const double chance =
        companies_[node] != nullptr ? companies_[node]->acceptance(a) : static_cast<double>(surest_[node]);
    chances_[node] = chances_[parent] * static_cast<float>(chance);
  }
}

/// More than `count` nodes, as many as fill the next but one row count that costs are known by.
std::size_t AutoController::widened(std::size_t count) const {
  const double rows = base_rows_ + static_cast<double>(count);
  const auto last = CostCurve::kRows.end() - 1;
  const auto above = std::upper_bound(CostCurve::kRows.begin(), last, rows);
  const double wide = above == last ? *last : *(above + 1);
  return std::min(order_.size(), static_cast<std::size_t>(std::max(wide - base_rows_, 0.0)));
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
    const double risk = plan_.cost(std::min(static_cast<int>(kProbeNodes), plan_.most_nodes())) / price_;
    if (probe_ < 0 && starved_.due() && may_lose(risk, probe_credit_)) {
      probe_ = static_cast<int>(seats_.size());
    }
  }
  if (probe_ >= 0) count = std::max(count, std::min(kProbeNodes, order_.size()));
  if (probe_ < 0 && count > 0 && sequences_ == 1 && beliefs_.wide_check.due()) {
    const std::size_t wide = widened(count);
    const double risk = (plan_.cost(static_cast<int>(wide)) - plan_.cost(static_cast<int>(count))) / price_;
    wide_ = wide > count && may_lose(risk, Ledger::kCredit);
    if (wide_) return std::min(wide, static_cast<std::size_t>(plan_.most_nodes()));
  }
  count = std::min(count, static_cast<std::size_t>(plan_.most_nodes()));
  const double drafted_ms = draft_ms_ - arrears_ms_;
  while (count > kProbeNodes && drafted_ms + plan_.cost(static_cast<int>(count)) / price_ > stake_ms_) {
    --count;
  }
  const double risk = drafted_ms + plan_.cost(static_cast<int>(count)) / price_;
  if (!may_lose(risk, Ledger::kCredit + (drafted() ? paid_debt_ : 0))) count = 0;
  return count;
}

/// Whether a drafter that takes time has drafted in this round.
bool AutoController::drafted() const {
  return std::any_of(seats_.begin(), seats_.end(), [](const SeatState& s) { return s.drafts; });
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
      const auto from = static_cast<std::size_t>(order_[to]);
      surest_[to] = surest_[from];
      companies_[to] = companies_[from];
      chances_[to] = chances_[from];
      tree.mutable_scores()[to] = std::log(std::max(chances_[to], std::numeric_limits<float>::min()));
    }
  }
  const auto context = static_cast<double>(round_.context);
  const double rows = base_rows_ + static_cast<double>(count);
  forecast_.mode = probe_ >= 0              ? RoundMode::Probe
                   : count > 0 || drafted() ? RoundMode::Speculate
                                            : RoundMode::Plain;
  forecast_.tokens = tokens;
  forecast_.ms = draft_ms_ +
                 round_.costs->verify_ms(rows, context) * (1 + static_cast<double>(count)) / rows +
                 round_.costs->other_ms() / sequences_;
  forecast_.price = price_;
  forecast_.plain_ms = plain_ms_;
}

// --- What came of it ---------------------------------------------------------------------------------------

/// The children of every accepted node: one of them may have been right. What a drafter's own probabilities
/// are worth is learned by its policy.
void AutoController::learn_outcomes(const StepTrace& trace) {
  const DraftTree& tree = *trace.tree;
  for (std::size_t i = 0; i < trace.path.size(); ++i) {
    const std::int32_t next = i + 1 < trace.path.size() ? trace.path[i + 1] : -1;
    int rank = 0;
    for (std::int32_t c = tree.first_child(trace.path[i]); c >= 0; c = tree.next_sibling(c), ++rank) {
      const auto node = static_cast<std::size_t>(c);
      const bool accepted = c == next;
      if (companies_[node] != nullptr)
        companies_[node]->observe(static_cast<double>(surest_[node]), accepted);
      const std::size_t seat = tree.proposers()[node] - 1u;
      if (!sampled_ || seat >= seats_.size()) continue;
      seats_[seat].belief->drawn_profile.observe(tree.depths()[node], rank, accepted ? 1.0 : 0.0);
    }
  }
}

void AutoController::forget_gains(bool of_all) {
  for (SeatState& seat : seats_) {
    if (!seat.drafts && !of_all) continue;
    for (RunningMean* mean :
         {&seat.gain.tokens, &seat.gain.ms, &seat.belief->gain.tokens, &seat.belief->gain.ms}) {
      mean->limit(kAfterWrong);
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
    // The less was left to it the more luck there is in the quotient.
    seat.gain.tokens.observe(gained, kGainMemory, seat.open_share);
    seat.gain.ms.observe(took, kGainMemory);
    seat.belief->gain.tokens.observe(gained, kSharedGainMemory, seat.open_share);
    seat.belief->gain.ms.observe(took, kSharedGainMemory);
    if (probe_ == static_cast<int>(i) && --seat.trial == 0) {
      pays(i) ? seat.probes.succeeded() : seat.probes.failed();
      seat.belief->probe_interval = seat.probes.interval();
    }
    after_tokens = seat.without.tokens;
    after_ms = before_ms;
  }
}

/// Forecasts are as good as the calibration behind them, and that needs outcomes. From 0 to 1.
double AutoController::trust_in_forecast() const {
  if (sampled_) return 0;
  double paid = std::numeric_limits<double>::infinity();
  double free = 0;
  for (const SeatState& seat : seats_) {
    const double outcomes = seat.belief->calibrator.outcomes();
    if (seat.drafts) paid = std::min(paid, outcomes);
    if (!seat.paid) free = std::max(free, outcomes);
  }
  const double outcomes = std::isinf(paid) ? free : paid;
  return outcomes / (outcomes + kOutcomesForTrust);
}

void AutoController::observe(const StepTrace& trace) {
  const auto context = static_cast<double>(trace.context);
  const auto tokens = static_cast<double>(trace.path.size());
  const double ms = trace.draft_ms + trace.verify_ms + trace.other_ms;
  beliefs_.price.observe(tokens, ms);
  text_.pass(ms, plain_ms_);
  beliefs_.paid_series.pass(ms, plain_ms_);
  beliefs_.free_series.pass(ms, plain_ms_);
  if (forecast_.mode == RoundMode::Plain) {
    // Beside others' drafts and prompts it says nothing.
    if (beliefs_.plain_check.taken(trace.batch_rows == sequences_ ? ms : plain_ms_, plain_ms_))
      forget_gains(true);
    // What free drafters took for candidates that nobody verifies is lost, however little it is; what they
    // take to keep up with the text is not for the ledgers to stop.
    const double lost_ms = draft_ms_ > 0 ? std::min(trace.draft_ms, plain_ms_) : 0;
    text_.book(-lost_ms, plain_ms_);
    beliefs_.free_series.book(-lost_ms, plain_ms_);
    return;
  }
  beliefs_.plain_check.other_step(1.0 / sequences_);
  beliefs_.wide_check.other_step(1.0 / sequences_);

  const auto nodes = static_cast<double>(trace.tree->size() - 1);
  const auto rows = static_cast<double>(trace.batch_rows);
  const double expected = round_.costs->verify_ms(rows, context);
  const double actual = trace.verify_ms * rows / (nodes + 1);
  if (wide_) beliefs_.wide_check.taken(actual, expected);
  const double ratio = std::clamp(actual / expected, 1 / kMostRatio, kMostRatio);
  const double verify_ms = ratio * std::max(0.0, expected - round_.costs->verify_ms(rows - nodes, context));
  // One interruption while drafting must not use up what may be lost; if the model is wrong it soon learns.
  const double draft_ms =
      std::clamp(trace.draft_ms - excused_ms_, 0.0, kMostRatio * (draft_ms_ - excused_ms_));
  // What was expected has less noise, what came no bias: a good drafter's bad luck must not count as a loss,
  // nor a bad one's promises as a gain.
  const double trust = kMostTrust * trust_in_forecast();
  const double promise = std::clamp(trust * (forecast_.tokens - bias_ - tokens), -kMostPromised - promised_,
                                    kMostPromised - promised_);
  promised_ += promise;
  const double worth = tokens + promise;
  bias_ += kBiasRate * (forecast_.tokens - tokens - bias_);
  text_.book((worth - 1) * plain_ms_ - verify_ms - draft_ms, plain_ms_);
  // Over many texts luck evens out, and what they began with has to pay, too.
  const double saved_ms = (tokens - 1) * plain_ms_ - verify_ms - draft_ms - excused_ms_;
  (drafted() ? beliefs_.paid_series : beliefs_.free_series).book(saved_ms, plain_ms_);
  if (bias_ > kWrong * std::max(1.0, forecast_.tokens - 1)) forget_gains(false);
  learn_gains(worth, draft_ms_ - arrears_ms_ + verify_ms);
  if (probe_ == static_cast<int>(seats_.size())) tokens > 1 ? starved_.succeeded() : starved_.failed();
  if (nodes > 0) learn_outcomes(trace);
}

}  // namespace augur
