#include "cost/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace augur {
namespace {

// Standard deviations of logarithms:
constexpr double kNoise =
    0.06;  ///< of one step's time: half of the steps on shared two-core machines are within 4%
constexpr double kSpeed = 0.3;   ///< of the machine's speed between one hour and another
constexpr double kShape = 0.15;  ///< of one row count's time, that speed given, between one hour and another
constexpr double kReach =
    4.0;  ///< knots over which an error of the shape falls to 1/e: a kernel's tile, twice
/// Steps within which what was known of a curve has become what is known of any: some minutes.
constexpr double kMemory = 2000;
/// A time longer than expected by more standard errors than this counts as so much longer: interruptions of a
/// step (a tick of the system, another program's time slice) are ten and more.
constexpr double kInterrupted = 2.5;
/// Of the running mean of errors, an observation: some of one sign are a surprise.
constexpr double kSurpriseRate = 0.25;

/// Covariance of two knots' errors: of a curve of which nothing is known but its shape, about.
double kernel(std::size_t a, std::size_t b) {
  static const auto kShared = [] {
    std::array<double, FastTimes::kKnots> by_distance;
    for (std::size_t i = 0; i < by_distance.size(); ++i) {
      by_distance[i] = kShape * kShape * std::exp(-static_cast<double>(i) / kReach);
    }
    return by_distance;
  }();
  return kSpeed * kSpeed + kShared[a < b ? b - a : a - b];
}

}  // namespace

CostCurve::CostCurve(double base_ms, double slope) {
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    log_ms_[i] = std::log(base_ms * (1 + slope * (kRows[i] - 1)));
    for (std::size_t j = 0; j < FastTimes::kKnots; ++j) covariance_[i][j] = kernel(i, j);
    fastest_.set(i, log_ms_[i], kShape);
  }
}

double CostCurve::value(std::size_t knot) const {
  return std::exp(log_ms_[knot]);
}

CostCurve::Place CostCurve::place(double rows) const {
  const auto above = std::lower_bound(kRows.begin() + 1, kRows.end() - 1, rows);
  const auto high = static_cast<std::size_t>(above - kRows.begin());
  const double along = std::max(0.0, (rows - kRows[high - 1]) / (kRows[high] - kRows[high - 1]));
  // Beyond the last knot an error is taken for that knot's: far out the line would be a lever for noise.
  const double share = std::min(along, 1.0);
  const double low_ms = (1 - share) * value(high - 1);
  const double high_ms = share * value(high);
  return {high - 1, along, {low_ms / (low_ms + high_ms), high_ms / (low_ms + high_ms)}};
}

double CostCurve::at(double rows) const {
  const Place p = place(rows);
  const double rise = value(p.low + 1) - value(p.low);
  return p.along <= 1 ? value(p.low) + p.along * rise
                      : value(p.low + 1) + (p.along - 1) * std::max(0.0, rise);
}

double CostCurve::covariance(const Place& a, const Place& b) const {
  double sum = 0;
  for (const std::size_t i : {0, 1}) {
    for (const std::size_t j : {0, 1}) sum += a.shares[i] * b.shares[j] * covariance_[a.low + i][b.low + j];
  }
  return sum;
}

double CostCurve::doubt(double rows, double base) const {
  const Place at = place(rows);
  const Place from = place(base);
  return std::sqrt(std::max(0.0, covariance(at, at) + covariance(from, from) - 2 * covariance(at, from)));
}

void CostCurve::set(double rows, double ms, double doubt) {
  const Place p = place(rows);
  const std::size_t knot = p.along > 0 ? p.low + 1 : p.low;
  log_ms_[knot] = std::log(std::max(ms, std::numeric_limits<float>::min() + 0.0));
  fastest_.set(knot, log_ms_[knot], doubt);
  set_[knot] = observed_ = true;
}

void CostCurve::settle(const std::array<double, kRows.size()>& bent) {
  // What is not known must not bend what is.
  const double longest = std::numeric_limits<double>::max();  // the logarithm of no time
  const auto open = [&](FastTimes& times, double log_ms) {
    for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
      if (!set_[i]) times.set(i, log_ms, std::numeric_limits<double>::infinity());
    }
  };
  open(fastest_, longest);
  fastest_.tighten();
  open(fastest_, 0);
  FastTimes likely = fastest_;
  likely.smooth();
  open(likely, longest);
  likely.tighten();
  log_ms_ = likely.log_ms();
  fill_gaps(bent);
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    for (std::size_t j = 0; j < FastTimes::kKnots; ++j) covariance_[i][j] = kernel(i, j);
    covariance_[i][i] += fastest_.doubt(i) * fastest_.doubt(i);
  }
}

void CostCurve::improve(const CostCurve& other) {
  if (!other.observed_) return;
  if (!observed_) {
    *this = other;
    return;
  }
  fastest_.improve(other.fastest_);
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) set_[i] = set_[i] || other.set_[i];
  settle();
}

void CostCurve::distrust(double doubt) {
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    const double more = doubt * doubt - fastest_.doubt(i) * fastest_.doubt(i);
    covariance_[i][i] += std::max(0.0, more);
  }
  fastest_.distrust(doubt);
}

/// The curve's doubt grows back to what is known of any, and that about the speed by so much more.
void CostCurve::forget(double more) {
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    for (std::size_t j = 0; j < FastTimes::kKnots; ++j)
      covariance_[i][j] += (kernel(i, j) - covariance_[i][j]) / kMemory + more;
  }
}

double CostCurve::error_variance(const Place& p, double more) const {
  return covariance(p, p) + kNoise * kNoise + more;
}

double CostCurve::variance(double rows) const {
  return error_variance(place(rows), 0);
}

void CostCurve::believe(double error, const Place& p, double more) {
  Vector with;  // covariance of every knot with what was observed
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    with[i] = p.shares[0] * covariance_[i][p.low] + p.shares[1] * covariance_[i][p.low + 1];
  }
  const double of_error = error_variance(p, more);
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    log_ms_[i] += with[i] / of_error * error;
    for (std::size_t j = 0; j < FastTimes::kKnots; ++j) covariance_[i][j] -= with[i] * with[j] / of_error;
  }
}

void CostCurve::observe(double rows, double ms, double more) {
  if (!(ms > 0) || !(rows > 0)) return;
  if (!observed_) scale(ms / at(rows));  // the guess was about the shape
  observed_ = true;
  const double error = std::log(ms / at(rows));
  const Place p = place(rows);
  const auto expected = [&] { return std::sqrt(error_variance(p, more)); };
  surprise_ += kSurpriseRate * (std::clamp(error / expected(), -kInterrupted, kInterrupted) - surprise_);
  // As large as that, errors of one sign are not those of the shape.
  forget(2 * error_variance(p, more) * std::max(0.0, surprise_ * surprise_ - 1));
  believe(std::min(error, kInterrupted * expected()), p, more);
  flatten_peaks(p.low);
  fastest_.follow(log_ms_);
  for (const std::size_t i : {0, 1}) fastest_.saw(p.low + i, p.shares[i]);
}

void CostCurve::fill_gaps(const Vector& bent) {
  const auto straight = [&](std::size_t i) { return value(i) - bent[i]; };
  std::array<std::size_t, FastTimes::kKnots> known{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    if (set_[i]) known[count++] = i;
  }
  std::size_t next = 0;  // of the known knots
  for (std::size_t i = 0; i < FastTimes::kKnots && count > 0; ++i) {
    if (set_[i]) {
      ++next;
      continue;
    }
    // Between two, or as it went on over the last stretch; before the first nothing is known to rise.
    const std::size_t high = known[std::min(next, count - 1)];
    const std::size_t low = known[std::min(next, count - 1) - (next > 0 && count > 1 ? 1 : 0)];
    const double slope = low == high ? 0 : (straight(high) - straight(low)) / (kRows[high] - kRows[low]);
    const double ms = straight(high) + (i > high ? std::max(0.0, slope) : slope) * (kRows[i] - kRows[high]);
    log_ms_[i] = std::log(std::max(ms + bent[i], std::numeric_limits<float>::min() + 0.0));
    fastest_.set(i, log_ms_[i], fastest_.doubt(high));
  }
}

void CostCurve::flatten_peaks(std::size_t last) {
  for (std::size_t i = last; i-- > 0;) log_ms_[i] = std::min(log_ms_[i], log_ms_[i + 1]);
}

void CostCurve::scale(double factor) {
  for (std::size_t i = 0; i < FastTimes::kKnots; ++i) {
    log_ms_[i] += std::log(factor);
    if (!observed_) fastest_.set(i, log_ms_[i], kShape);
  }
}

DraftCosts::DraftCosts() : slowdown_variance_(kShape * kShape) {}

void DraftCosts::observe(int level, int rows, double ms) {
  if (!(ms > 0)) return;
  ran_ = true;
  if (level > 0) {
    levels_.observe(rows, ms);
    return;
  }
  // Until a further level has been seen, it is taken to cost what the first one does.
  const bool follow = !root_.observed() && !levels_.observed();
  root_.observe(rows, ms);
  if (follow) levels_.scale(root_.at(1) / levels_.at(1));
}

void DraftCosts::improve(const DraftCosts& other) {
  root_.improve(other.root_);
  levels_.improve(other.levels_);
}

void DraftCosts::distrust(double doubt) {
  root_.distrust(doubt);
  levels_.distrust(doubt);
}

/// Never less than that of one row.
double CostModel::forward_ms(double rows) const {
  const double ms = verify_.at(rows);
  if (experts_.dense()) return ms;
  return std::max(ms + expert_ms() * (experts_.at(rows) - experts_.even(rows)), verify_.at(1));
}

/// All that rows could wake of what one of them wakes takes no more than its forward does.
void CostModel::set_expert_share(double share) {
  expert_share_ = experts_.dense() ? 0 : std::clamp(share, 0.0, 1 / experts_.even(1));
}

double CostModel::grown(double rows, double context) const {
  const double share = rows >= kManyRows ? 1.0 : (rows - 1) / (kManyRows - 1);
  const double growth = growth_one_ + share * (growth_many_ - growth_one_);
  return 1 + growth * (context - reference_context_);
}

void CostModel::optimistic_rows_ms(double base, double context, double errors, std::span<double> out) const {
  const double from = verify_ms(base, context);
  const auto optimistic = [&](double rows) {
    return std::max(from, verify_ms(rows, context) * std::exp(-errors * verify_.doubt(rows, base)));
  };
  double low = base;
  double low_ms = from;
  std::size_t knot = 0;
  double high = base;
  double high_ms = from;
  for (std::size_t n = 0; n < out.size(); ++n) {
    const double rows = base + static_cast<double>(n);
    if (rows > high) {
      low = high;
      low_ms = high_ms;
      while (knot < CostCurve::kRows.size() && CostCurve::kRows[knot] < rows) ++knot;
      high = knot < CostCurve::kRows.size() ? CostCurve::kRows[knot] : base + static_cast<double>(out.size());
      high_ms = std::max(low_ms, optimistic(high));
    }
    out[n] = low_ms - from + (high > low ? (high_ms - low_ms) * (rows - low) / (high - low) : 0);
  }
}

DraftCosts& CostModel::drafter(std::string_view name) {
  const auto found = drafters_.find(name);
  return found != drafters_.end() ? found->second : drafters_[std::string(name)];
}

void CostModel::observe_step(double rows, double context, double ms, double other_ms, double experts) {
  if (!(ms > 0) || rows < 1) return;
  other_.observe(1, other_ms);
  // What drafted before this step or the one before slows it down. A look-up reads next to nothing.
  const double least_ms = kNegligible * verify_.at(1);
  const auto disturbs = [&](const DraftCosts& d) {
    return (d.ran_ || d.ran_before_) && d.root_.at(1) > least_ms;
  };
  double log_slowdown = 0;
  double variance = 0;
  for (const auto& [name, d] : drafters_) {
    if (!disturbs(d)) continue;
    log_slowdown += d.log_slowdown_;
    variance += d.slowdown_variance_;
  }
  double calm_ms = ms / grown(rows, context) / std::exp(log_slowdown);
  if (experts > 0 && !experts_.dense()) {
    experts_.observe(rows, experts);
    calm_ms = std::max(calm_ms + expert_ms() * (experts_.even(rows) - experts), kNegligible * calm_ms);
  }
  const double error = verify_.observed() ? std::log(calm_ms / verify_.at(rows)) : 0;
  const double of_error = variance + verify_.variance(rows);
  const double most = kInterrupted * std::sqrt(of_error);
  if (trusted_ms_ == 0 && verify_.observed()) trusted_ms_ = verify_.at(1);
  verify_.observe(rows, calm_ms, variance);
  // Faster by so much, the machine was busy when it was measured: what that says of anything else is in doubt
  // by as much.
  if (const double faster = std::log(trusted_ms_ / verify_.at(1)); faster > kShape) {
    verify_.distrust(faster);
    for (auto& [name, d] : drafters_) d.distrust(faster);
    trusted_ms_ = verify_.at(1);
  }
  for (auto& [name, d] : drafters_) {
    if (disturbs(d)) {
      const double gain = d.slowdown_variance_ / of_error;
      d.log_slowdown_ = std::max(0.0, d.log_slowdown_ + gain * std::clamp(error, -most, most));
      d.slowdown_variance_ -= gain * d.slowdown_variance_;
    }
    d.slowdown_variance_ += (kShape * kShape - d.slowdown_variance_) / kMemory;
    d.ran_before_ = std::exchange(d.ran_, false);
  }
}

void CostModel::improve(const CostModel& other) {
  if (other.verify_.fastest().doubt() < verify_.fastest().doubt()) {
    experts_ = other.experts_;
    expert_share_ = other.expert_share_;
    reference_context_ = other.reference_context_;
    growth_one_ = other.growth_one_;
    growth_many_ = other.growth_many_;
  }
  verify_.improve(other.verify_);
  other_.improve(other.other_);
  trusted_ms_ = 0;
}

void CostModel::replace_target(const CostModel& other) {
  auto drafters = std::move(drafters_);
  *this = other;
  drafters_ = std::move(drafters);
}

void CostModel::set_growth(double reference_context, double one_row, double many_rows) {
  reference_context_ = reference_context;
  const double most = (1 - kNegligible) / std::max(reference_context, 1.0);
  growth_one_ = std::clamp(one_row, 0.0, most);
  growth_many_ = std::clamp(many_rows, 0.0, most);
}

}  // namespace augur
