#include "policy/auto/recent_rate.h"

#include <algorithm>
#include <limits>

namespace augur {
namespace {

/// Everything is counted in plain steps, so they have to be seen, two in a row: the first one is slower after
/// drafts. They cost what rounds now win over them: so much of the time is spent on that, and rounds go by in
/// between even where nothing is won.
constexpr double kYardstick = 0.005;
constexpr double kLeastBetween = 8;
/// Rounds after which they are taken for the first time, however much seems to be won: costs that are wrong
/// about plain steps alone are contradicted by nothing else.
constexpr double kUnseen = 40;
/// Nothing begins with them as long as rounds take what the costs say, but for so much.
constexpr double kAsExpected = 0.2;

}  // namespace

bool RecentRate::plain_steps_due() const {
  const double pays_for = 2 * (tokens_per_step() - 1) / kYardstick;
  return since_plain_ >= std::max(kLeastBetween, saw_plain_ ? pays_for : std::min(pays_for, kUnseen));
}

void RecentRate::observe(const Round& round) {
  const double rate = std::max(kRate, 1 / (2 + rounds_++));
  tokens_ += rate * (round.tokens - tokens_);
  steps_ += rate * (round.steps - steps_);
  const bool second = round.plain && was_plain_;
  saw_plain_ = saw_plain_ || second;
  since_plain_ = second ? 0 : since_plain_ + 1;
  if (rounds_ <= kLeastBetween && round.unexpected > kAsExpected)
    since_plain_ = std::numeric_limits<double>::infinity();
  was_plain_ = round.plain;
}

}  // namespace augur
