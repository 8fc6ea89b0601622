#include "policy/auto/predict.h"

#include <algorithm>
#include <cmath>

#include "cost/yardsticks.h"

namespace augur {
namespace {

/// Curvature that a = q is worth: so much that a first text's outcomes are taken for the text's own, for the
/// most part.
constexpr double kPrior = 12.0;
/// Outcomes of all texts within which what they have shown fades to 1/e: dozens of texts are remembered, so
/// that none decides. The same of rounds. What a drafter that learns was worth some rounds ago is another
/// drafter's worth.
constexpr double kRemembered = 1000;
/// Of shifts in log-odds, over drafters and over one drafter's texts: suites and drafters differ by 1 to 2.
constexpr double kSpread = 0.75;
/// Rounds in which what was seen of a sequence whose drafter learns fades to 1/e.
constexpr double kLearnerRounds = 4 / kRecent;
/// Of a drafter's mean text, at least: so that a change that lasts is learned within some texts.
constexpr double kLeastVariance = 0.05;
/// What the best child is worth before anything was seen, the next one of what it leaves, and so on; and the
/// values of a rank that this counts as.
constexpr double kBest = 0.55;
constexpr double kRankPrior = 4;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

/// No token is certain, and none is out of the question: so a node's P is always below its parent's.
double clip(double a) {
  return std::clamp(a, kNegligible / 2, 1 - kNegligible / 2);
}

/// Of the log-likelihood of one outcome.
double curvature_of(double a) {
  return clip(a) * (1 - clip(a));
}

std::size_t depth_index(int depth) {
  return static_cast<std::size_t>(std::clamp(depth, 1, kDepths) - 1);
}

}  // namespace

Calibrator::Calibrator() {
  for (Weight& w : weights_) w.curvature = kPrior;
}

Calibrator::Place Calibrator::place(double log_prob, int depth) {
  constexpr double range = (kKnots - 1) / 2.0;
  // log(q / (1 - q)) without losing what is left of 1 - q near 1.
  const double odds =
      log_prob >= 0 ? range : std::clamp(log_prob - std::log(-std::expm1(log_prob)), -range, range);
  const double at = odds + range;
  const auto low = std::min(static_cast<std::size_t>(at), static_cast<std::size_t>(kKnots - 2));
  return {odds, low, at - static_cast<double>(low), kKnots + depth_index(depth)};
}

double Calibrator::log_odds(double log_prob, int depth) const {
  const Place p = place(log_prob, depth);
  return p.log_odds + (1 - p.high_share) * weights_[p.low].value + p.high_share * weights_[p.low + 1].value +
         weights_[p.depth].value;
}

void Calibrator::observe(double log_prob, int depth, double error, double probability) {
  const Place p = place(log_prob, depth);
  const double curvature = curvature_of(probability);
  const auto learn = [&](Weight& w, double x) {
    if (x <= 0) return;
    w.value += x * error / (w.curvature + x * x * curvature);
    w.curvature = std::max(kPrior, w.curvature * (1 - x / kRemembered)) + x * x * curvature;
  };
  learn(weights_[p.low], 1 - p.high_share);
  learn(weights_[p.low + 1], p.high_share);
  learn(weights_[p.depth], 1.0);
}

double RankProfile::at(int depth, int rank) const {
  static const std::array<double, kRanks> kUnseen = [] {
    std::array<double, kRanks> values;
    for (std::size_t k = 0; k < kRanks; ++k) values[k] = kBest * std::pow(1 - kBest, k);
    return values;
  }();
  const auto k = static_cast<std::size_t>(rank);
  double estimate = kUnseen[k];
  for (std::size_t d = 0; d <= depth_index(depth); ++d) {
    const Mean& m = means_[d][k];
    estimate = (m.count * m.value + kRankPrior * estimate) / (m.count + kRankPrior);
  }
  return estimate;
}

double RankProfile::doubt(int depth, int rank) const {
  double seen = 0;  // what is known of the depth, or of one above it
  for (std::size_t d = 0; d <= depth_index(depth); ++d) {
    seen = std::max(means_[d][static_cast<std::size_t>(rank)].count, seen / 2);
  }
  return 1 / (1 + seen);
}

void RankProfile::observe(int depth, int rank, double acceptance, double rate) {
  if (rank >= kRanks) return;
  Mean& m = means_[depth_index(depth)][static_cast<std::size_t>(rank)];
  m.count += 1;
  m.value += (acceptance - m.value) * std::max(1 / m.count, rate);
}

DrafterBelief::DrafterBelief() : variance(kSpread) {}

SequencePrediction::SequencePrediction(DrafterBelief& belief)
    : belief_(belief), variance_(kSpread + belief.variance), settled_(variance_) {}

double SequencePrediction::acceptance(double log_prob, int depth, double errors) const {
  return clip(sigmoid(belief_.calibrator.log_odds(log_prob, depth) + belief_.shift + shift_ +
                      errors * std::sqrt(variance_)));
}

std::array<double, RankProfile::kRanks> SequencePrediction::expected(int depth, bool drawn,
                                                                     double errors) const {
  const RankProfile& profile = drawn ? belief_.drawn_profile : belief_.profile;
  std::array<double, RankProfile::kRanks> children;
  double left = clip(1);
  for (int rank = 0; rank < RankProfile::kRanks; ++rank) {
    double& child = children[static_cast<std::size_t>(rank)];
    const double hope = errors == 0 ? 0 : errors * std::sqrt(variance_ + profile.doubt(depth, rank));
    const double unshifted = clip(profile.at(depth, rank));
    const double odds = std::exp(belief_.shift + shift_ + hope) * unshifted / (1 - unshifted);
    child = std::min(left, clip(odds / (1 + odds)));
    left -= child;
  }
  return children;
}

void SequencePrediction::drafted(int depth, std::span<const float> log_probs) {
  const double rate = learns_ ? kRecent : 1 / kRemembered;
  if (log_probs.empty()) belief_.profile.observe(depth, 0, 0.0, rate);
  for (std::size_t rank = 0; rank < log_probs.size(); ++rank) {
    const double log_odds = belief_.calibrator.log_odds(static_cast<double>(log_probs[rank]), depth);
    belief_.profile.observe(depth, static_cast<int>(rank), clip(sigmoid(log_odds)), rate);
  }
}

void SequencePrediction::learn_shift(double error, double probability) {
  const double curvature = curvature_of(probability);
  variance_ /= 1 + variance_ * curvature;
  const double share = belief_.variance / (belief_.variance + kSpread);  // that is the drafter's
  belief_.shift += share * variance_ * error;
  shift_ += (1 - share) * variance_ * error;
  const double before = settled_;
  settled_ /= 1 + settled_ * curvature;
  belief_.variance = std::max(kLeastVariance, belief_.variance - share * share * (before - settled_));
}

void SequencePrediction::outcome(double log_prob, int depth, bool accepted) {
  const double a = acceptance(log_prob, depth);
  const double error = (accepted ? 1.0 : 0.0) - a;
  belief_.calibrator.observe(log_prob, depth, error, a);
  learn_shift(error, a);
}

void SequencePrediction::drawn_outcome(int depth, int rank, bool accepted) {
  if (rank >= RankProfile::kRanks) return;
  const double a = expected(depth, true, 0)[static_cast<std::size_t>(rank)];
  belief_.drawn_profile.observe(depth, rank, accepted ? 1.0 : 0.0, learns_ ? kRecent : 1 / kRemembered);
  learn_shift((accepted ? 1.0 : 0.0) - a, a);
}

void SequencePrediction::pass(bool learns) {
  learns_ = learns;
  const double rounds = learns ? kLearnerRounds : kLength;
  shift_ -= shift_ / rounds;
  variance_ += 2 / rounds * (kSpread + belief_.variance - variance_);
  belief_.variance += (kSpread - belief_.variance) / kRemembered;
}

}  // namespace augur
