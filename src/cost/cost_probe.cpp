#include "cost/cost_probe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/calm_times.h"
#include "model/forward_timer.h"

namespace augur {
namespace {

constexpr std::int64_t kShortContext = 256;  ///< tokens; a longer one shows what they add to a forward
constexpr std::int64_t kLongContext = 768;
constexpr std::int64_t kLeastGrowth = 128;  ///< tokens between the two: fewer add less than times scatter
constexpr std::int64_t kLeastContext = 8;   ///< tokens; in less there is no room for what is to be timed
constexpr int kExpertRows = 8;  ///< an expert's products with so few take what reading its weights does
// Of drafted texts, in tokens: one that warms up, and a short one beside which a long one shows catching up.
constexpr int kColdPrompt = 4;
constexpr int kShortPrompt = 16;
constexpr int kRepetitions = 5;  ///< at most: the calm moments among them tell
/// Of the target's budget: for warming up, and each for what is timed beside forwards behind one text.
constexpr double kSideShare = 0.15;
constexpr auto kMostRows = static_cast<int>(CostCurve::kRows.back());

/// Whatever disturbs a measurement makes it longer.
double shortest(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

double median(std::vector<double>& values) {
  const auto place = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// By how much of `before` a time grew per token of text.
double growth(double before, double after, std::int64_t tokens) {
  return std::max(0.0, after / before - 1) / static_cast<double>(tokens);
}

/// A power of four: with these the curve has its shape, so they are timed whatever it takes.
bool is_telling(int rows) {
  const auto bits = static_cast<unsigned>(rows);
  return std::has_single_bit(bits) && std::countr_zero(bits) % 2 == 0;
}

/// Row counts of the knots, the telling ones first.
std::vector<int> row_counts() {
  std::vector<int> rows(CostCurve::kRows.begin() + 1, CostCurve::kRows.end());
  std::stable_partition(rows.begin(), rows.end(), is_telling);
  return rows;
}

/// By what share of a plain forward one more expert in one layer makes a forward longer: of two batches alike
/// but for their tokens one wakes an expert for almost every choice, the other as many as a single row.
void measure_experts(ForwardTimer& timer, CostModel& costs, double budget_ms) {
  const double began = timer.clock().now_ms();
  std::vector<double> shares;
  while (shares.empty() ||
         (std::ssize(shares) < kRepetitions && timer.clock().now_ms() < began + budget_ms)) {
    const double step = timer.time(1).ms();
    const ForwardTimer::Times alike = timer.time_siblings(kExpertRows, true);
    const ForwardTimer::Times different = timer.time_siblings(kExpertRows, false);
    const double more = different.experts - alike.experts;
    shares.push_back(more > 0 ? (different.ms() - alike.ms()) / step / more : 0);
  }
  costs.set_expert_share(median(shares));
}

void measure_forwards(ForwardTimer& timer, std::int64_t capacity, CostModel& costs, double budget_ms) {
  const double began = timer.clock().now_ms();
  timer.grow(std::min(kShortContext, capacity - kMostRows), began + kSideShare * budget_ms);
  if (!costs.experts().dense()) measure_experts(timer, costs, kSideShare * budget_ms);
  // What matters is how many plain steps rows are worth, and the machine's speed wanders between one forward
  // and the next but one: so each is compared with a plain one just before. If that one took much longer than
  // others, it was disturbed, which says nothing about the forward after it.
  struct Pair {
    double rows;
    double plain_ms;
    double ms;
  };
  std::vector<Pair> pairs;
  CalmTimes plain;
  std::map<double, double> woken;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    for (const int rows : row_counts()) {
      if (rows > capacity - timer.length() || (repetition > 0 && rows > CostModel::kManyRows)) continue;
      if ((repetition > 0 || !is_telling(rows)) && timer.clock().now_ms() > began + budget_ms) break;
      const double plain_ms = timer.time(1).ms();
      const ForwardTimer::Times times = timer.time(rows);
      plain.add(1, plain_ms);
      pairs.push_back({static_cast<double>(rows), plain_ms, times.ms()});
      woken[rows] = times.experts;
      // A first idea of how alike rows choose; texts put it right.
      costs.experts().observe(rows, times.experts);
    }
  }
  const CalmTimes::Time step = plain.times().front();
  costs.verify_curve().set(1, step.ms, step.doubt);
  const ExpertDemand& experts = costs.experts();
  CalmTimes calm;
  for (const auto& [rows, plain_ms, ms] : pairs)
    calm.add(rows, ms * std::max(step.ms / plain_ms, 1 / (1 + CalmTimes::kDisturbed)));
  for (const auto& [rows, ms, doubt] : calm.times()) {
    const double uneven = costs.expert_ms() * (experts.even(rows) - (experts.dense() ? 0 : woken[rows]));
    costs.verify_curve().set(rows, ms + uneven, doubt);
  }
  std::array<double, CostCurve::kRows.size()> of_experts{};
  for (std::size_t i = 0; i < of_experts.size(); ++i) {
    of_experts[i] = costs.expert_ms() * experts.even(CostCurve::kRows[i]);
  }
  costs.verify_curve().settle(of_experts);
  costs.set_growth(static_cast<double>(timer.length()), 0, 0);
}

/// By how much times grow with the text. Both texts are there at once, and their forwards take turns: a
/// machine that is slower a second later must not look like a text that is longer.
void measure_growth(Model& target, ForwardTimer& timer, std::int64_t capacity, CostModel& costs,
                    double budget_ms) {
  const double began = timer.clock().now_ms();
  const std::int64_t length = std::min(kLongContext, capacity - kMostRows);
  if (length - timer.length() < kLeastGrowth) return;
  ForwardTimer longer(target, capacity, kMostRows, timer.clock());
  longer.grow(length, began + budget_ms / 2);
  const std::int64_t grown = longer.length() - timer.length();
  if (grown < kLeastGrowth) return;
  std::array<std::vector<double>, 2> one;
  std::array<std::vector<double>, 2> many;
  for (int repetition = 0;
       repetition < kRepetitions && (one[0].empty() || timer.clock().now_ms() < began + budget_ms);
       ++repetition) {
    for (std::size_t i = 0; i < 2; ++i) {
      ForwardTimer& timed = i == 0 ? timer : longer;
      one[i].push_back(timed.time(1).ms());
      one[i].push_back(timed.time(1).ms());
      many[i].push_back(timed.time(static_cast<int>(CostModel::kManyRows)).ms());
    }
  }
  costs.set_growth(static_cast<double>(timer.length()), growth(shortest(one[0]), shortest(one[1]), grown),
                   growth(shortest(many[0]), shortest(many[1]), grown));
}

// --- Drafters --------------------------------------------------------------------------------------------

/// The knot that so many rows are nearest to.
double nearest_knot(int rows) {
  double best = CostCurve::kRows.front();
  for (const double knot : CostCurve::kRows) {
    if (std::abs(knot - rows) < std::abs(best - rows)) best = knot;
  }
  return best;
}

/// Levels of one round are one moment: what disturbs the one mostly disturbs the next, too.
void set_curve(const std::vector<DraftSample>& samples, bool root, CostCurve& curve) {
  std::map<std::pair<int, double>, double> shortest;  // by moment and rows
  for (const DraftSample& s : samples) {
    if ((s.level == 0) != root) continue;
    const auto [at, first] = shortest.try_emplace({s.moment, nearest_knot(s.rows)}, s.ms);
    if (!first) at->second = std::min(at->second, s.ms);
  }
  if (shortest.empty()) return;
  CalmTimes calm;
  for (const auto& [moment, ms] : shortest) calm.add(moment.second, ms);
  for (const CalmTimes::Time& time : calm.times()) curve.set(time.thing, time.ms, time.doubt);
  curve.settle();
}

}  // namespace

void measure_target(Model& target, const OverheadProbe& overhead_ms, CostModel& costs, double budget_ms,
                    const Clock& clock) {
  const std::int64_t capacity = std::min(target.context(), kLongContext + kMostRows);
  ForwardTimer timer(target, capacity, kMostRows, clock);
  if (capacity < kLeastContext) {
    timer.time(1);  // warms up
    costs.verify_curve().observe(1, timer.time(1).ms());
    return;
  }
  measure_forwards(timer, capacity, costs, (1 - 2 * kSideShare) * budget_ms);
  measure_growth(target, timer, capacity, costs, 2 * kSideShare * budget_ms);
  costs.other_curve().set(1, overhead_ms(clock));
}

void measure_drafter(std::int64_t context, const DraftProbe& draft, DraftCosts& costs, double budget_ms,
                     const Clock& clock) {
  const int rounds = 2 * static_cast<int>(kProbedWidths.size());
  if (context < kLeastContext) return;
  const double until_ms = clock.now_ms() + budget_ms;
  std::vector<DraftSample> samples;
  // A short text first: it is not measured, but warms everything up. The longer ones tell what catching up
  // costs. They take turns, as what disturbs one of them may spare the next.
  std::vector<DraftSample> cold;
  bool going = draft({.prompt = kColdPrompt, .rounds = 2}, cold, clock, until_ms);
  for (int turn = 0; turn < kRepetitions; ++turn) {
    for (const int prompt : {kShortPrompt, kMostRows}) {
      const DraftedSequence sequence{.prompt = prompt, .rounds = prompt == kMostRows ? 2 : rounds};
      if (!going || prompt + 2 * rounds + kProbedLevels >= context) break;
      going = draft(sequence, samples, clock, until_ms);
    }
  }
  if (samples.empty()) samples = std::move(cold);
  set_curve(samples, true, costs.root());
  set_curve(samples, false, costs.levels());
}

}  // namespace augur
