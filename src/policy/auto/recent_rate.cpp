#include "policy/auto/recent_rate.h"

#include <algorithm>
#include <limits>

#include "base/calm_times.h"
#include "cost/yardsticks.h"
#include "policy/auto/budget.h"

namespace augur {
namespace {

/// Rounds that go by between two plain steps in a row and the next two, even where nothing is won.
constexpr double kLeastBetween = 8;
/// Before the first two: beliefs about plain steps are put right soon.
constexpr double kFirstWithin = 4 * kLeastBetween;

}  // namespace

/// Everything is counted in plain steps, so they have to be seen, two in a row: the first one is slower after
/// drafts. They cost what rounds now win over them, and take a small share of the time. Costs that are wrong
/// about plain steps alone are contradicted by nothing else, so the first time comes soon however much seems
/// to be won.
bool RecentRate::plain_steps_due() const {
  const double pays_for = 2 * (tokens_per_step() - 1) / Budget::kShare;
  const double most = saw_plain_ ? pays_for : std::min(pays_for, kFirstWithin);
  return since_plain_ >= std::max(kLeastBetween, most);
}

void RecentRate::observe(double tokens, double steps, bool plain, double unexpected) {
  const double rate = std::max(kRecent / 2, 1 / (2 + rounds_++));
  tokens_ += rate * (tokens - tokens_);
  steps_ += rate * (steps - steps_);
  const bool second = plain && was_plain_;
  saw_plain_ = saw_plain_ || second;
  since_plain_ = second ? 0 : since_plain_ + 1;
  // As long as rounds take what the costs say, nothing begins with plain steps.
  if (rounds_ <= kLeastBetween && unexpected > 2 * CalmTimes::kDisturbed)
    since_plain_ = std::numeric_limits<double>::infinity();
  was_plain_ = plain;
}

}  // namespace augur
