#include "policy/auto/calibrator.h"

#include <algorithm>
#include <cmath>

namespace augur {
namespace {

constexpr double kOddsRange = 6.0;
constexpr double kPrior = 3.0;        ///< curvature that a = q is worth
constexpr double kMemory = 40.0;      ///< curvature at most
constexpr double kForget = 1.0 / 96;  ///< share of the curvature that an outcome takes the place of
constexpr double kLeastCurvature = 0.04;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double log_odds(double p) {
  return std::log(p / (1 - p));
}

double clip(double a) {
  return std::clamp(a, Calibrator::kLeast, Calibrator::kMost);
}

}  // namespace

Calibrator::Calibrator() {
  for (Weight& w : weights_) w.curvature = kPrior;
}

void Calibrator::restore(const std::array<Weight, kKnots + kDepths>& weights, double outcomes) {
  // An outcome adds a sixth to a curvature, or less: a (1 - a), shared by two knots.
  const double most = kPrior + outcomes / 6;
  weights_ = weights;
  for (Weight& w : weights_) w.curvature = std::clamp(w.curvature, kPrior, std::min(most, kMemory));
  outcomes_ = outcomes;
}

Calibrator::Place Calibrator::place(double log_prob, int depth) {
  // log(q / (1 - q)) without losing what is left of 1 - q near 1.
  const double odds = log_prob >= 0
                          ? kOddsRange
                          : std::clamp(log_prob - std::log(-std::expm1(log_prob)), -kOddsRange, kOddsRange);
  const double at = odds + kOddsRange;
  const auto low = std::min(static_cast<std::size_t>(at), kKnots - 2);
  return {odds, low, at - static_cast<double>(low),
          static_cast<std::size_t>(std::clamp(depth, 1, static_cast<int>(kDepths)) - 1)};
}

double Calibrator::logit(const Place& p) const {
  return p.log_odds + (1 - p.high_share) * weights_[p.low].value + p.high_share * weights_[p.low + 1].value +
         weights_[kKnots + p.depth].value;
}

double Calibrator::acceptance(double log_prob, int depth) const {
  return clip(sigmoid(logit(place(log_prob, depth))));
}

void Calibrator::observe(double log_prob, int depth, bool accepted) {
  const Place p = place(log_prob, depth);
  const double a = sigmoid(logit(p));
  const double error = (accepted ? 1.0 : 0.0) - a;
  const double curvature = std::max(a * (1 - a), kLeastCurvature);
  const auto learn = [&](Weight& w, double x) {
    if (x <= 0) return;
    w.value += x * error / (w.curvature + x * x * curvature);
    w.curvature = std::max(kPrior, w.curvature * (1 - x * kForget)) + x * x * curvature;
    w.curvature = std::min(w.curvature, kMemory);
  };
  learn(weights_[p.low], 1 - p.high_share);
  learn(weights_[p.low + 1], p.high_share);
  learn(weights_[kKnots + p.depth], 1.0);
  ++outcomes_;
}

double Agreement::acceptance(double surest) const {
  return clip(sigmoid(log_odds(clip(surest)) + shift_));
}

void Agreement::observe(double surest, bool accepted) {
  const double a = acceptance(surest);
  const double curvature = std::max(a * (1 - a), kLeastCurvature);
  shift_ += ((accepted ? 1.0 : 0.0) - a) / (curvature_ + curvature);
  curvature_ = std::min(curvature_ + curvature, kMemory);
}

}  // namespace augur
