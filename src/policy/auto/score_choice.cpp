#include "policy/auto/score_choice.h"

#include <algorithm>
#include <cmath>

namespace augur {
namespace {

double loss(double acceptance, bool accepted) {
  return -std::log(accepted ? acceptance : 1 - acceptance);
}

}  // namespace

void ScoreChoice::prepare(std::span<NodeScore* const> scores) {
  if (beliefs_.size() == scores.size()) return;
  beliefs_.clear();
  chosen_ = kOwn;
  for (const NodeScore* score : scores) {
    beliefs_.push_back({std::vector<Calibrator>(static_cast<std::size_t>(score->strata())), {}});
  }
}

double ScoreChoice::acceptance(std::size_t i, const NodeScore::Reading& reading, int depth) const {
  return beliefs_[i].by_stratum[static_cast<std::size_t>(reading.stratum)].acceptance(reading.log_prob,
                                                                                      depth);
}

void ScoreChoice::observe(std::span<const NodeScore::Reading> readings, double own, int depth,
                          bool accepted) {
  const double own_loss = loss(std::clamp(own, Calibrator::kLeast, Calibrator::kMost), accepted);
  for (std::size_t i = 0; i < beliefs_.size(); ++i) {
    if (!readings[i].known()) continue;
    // Judged by what it said before it knew.
    beliefs_[i].advantage.observe(own_loss - loss(acceptance(i, readings[i], depth), accepted), kMemory);
    beliefs_[i].by_stratum[static_cast<std::size_t>(readings[i].stratum)].observe(readings[i].log_prob, depth,
                                                                                  accepted);
  }
  if (chosen_ != kOwn && advantage(static_cast<std::size_t>(chosen_)) <= 0) chosen_ = kOwn;
  const double now = chosen_ == kOwn ? 0 : advantage(static_cast<std::size_t>(chosen_));
  double best = now + kMargin;
  for (std::size_t i = 0; i < beliefs_.size(); ++i) {
    if (beliefs_[i].advantage.count() < kFewest || advantage(i) <= best) continue;
    best = advantage(i);
    chosen_ = static_cast<int>(i);
  }
}

}  // namespace augur
