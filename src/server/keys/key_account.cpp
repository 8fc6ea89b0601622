#include "server/keys/key_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/fields/bad_request.h"
#include "server/problem.h"

namespace augur {
namespace {

constexpr double kMinute = 60e3;  // in ms

}  // namespace

KeyAccount::KeyAccount(std::string name, std::string id, const Clock& clock)
    : name_(std::move(name)), id_(std::move(id)), clock_(clock) {}

void KeyAccount::set_limits(const KeyLimits& limits) {
  const std::lock_guard lock(mutex_);
  fill();
  const bool had_bucket = limits_.tokens_per_minute > 0;
  const auto holds = static_cast<double>(limits.tokens_per_minute);
  left_ = had_bucket ? std::min(left_, holds) : holds;
  limits_ = limits;
}

void KeyAccount::count_request() {
  const std::lock_guard lock(mutex_);
  ++counts_.requests;
}

KeyCounts KeyAccount::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

/// With the mutex held.
void KeyAccount::fill() {
  const double now = clock_.now_ms();
  const auto holds = static_cast<double>(limits_.tokens_per_minute);
  left_ = std::min(holds, left_ + holds * (now - filled_at_) / kMinute);
  filled_at_ = now;
}

/// With the mutex held.
void KeyAccount::take(std::int64_t answers, std::int64_t prompt_tokens) {
  if (limits_.answers > 0 && counts_.running + answers > limits_.answers) {
    ++counts_.refused_answers;
    throw Refusal(429, "answers at once",
                  fmt::format("the key of '{}' may have {} answers at once: {} are under way, and this asks "
                              "for {}",
                              name_, limits_.answers, counts_.running, answers),
                  {{"Retry-After", "1"}});
  }
  fill();
  if (limits_.tokens_per_minute > 0 && left_ <= 0) {
    ++counts_.refused_tokens;
    const double seconds = std::floor(-left_ * 60 / static_cast<double>(limits_.tokens_per_minute)) + 1;
    throw Refusal(429, "tokens a minute",
                  fmt::format("the key of '{}' may take {} tokens a minute, and has taken them: try again in "
                              "{} s",
                              name_, limits_.tokens_per_minute, seconds),
                  {{"Retry-After", fmt::format("{}", seconds)}});
  }
  counts_.running += answers;
  left_ -= static_cast<double>(prompt_tokens);
}

void KeyLease::take(std::int64_t answers, std::int64_t prompt_tokens, const char* field) {
  if (!account_) return;
  const std::lock_guard lock(account_->mutex_);
  if (const std::int64_t most = account_->limits_.answers; most > 0 && answers > most) {
    throw BadRequest(field, fmt::format("it asks for {0} answers at once, but the key of '{1}' may have {2}: "
                                        "expected at most {2}",
                                        answers, account_->name_, most));
  }
  account_->take(answers, prompt_tokens);
  answers_ = answers;
}

KeyLease::~KeyLease() {
  if (!account_) return;
  const std::lock_guard lock(account_->mutex_);
  account_->counts_.running -= answers_;
}

void KeyLease::prompt_begins(std::int64_t tokens) {
  if (!account_) return;
  const std::lock_guard lock(account_->mutex_);
  account_->counts_.prompt_tokens += tokens;
}

void KeyLease::wrote(std::int64_t tokens) {
  if (!account_) return;
  const std::lock_guard lock(account_->mutex_);
  account_->counts_.generated_tokens += tokens;
  account_->fill();
  account_->left_ -= static_cast<double>(tokens);
}

void KeyLease::give_back(std::int64_t prompt_tokens) {
  if (!account_) return;
  const std::lock_guard lock(account_->mutex_);
  account_->left_ += static_cast<double>(prompt_tokens);
}

void KeyLease::answer_ended() {
  if (!account_) return;
  const std::lock_guard lock(account_->mutex_);
  if (answers_ == 0) return;
  --account_->counts_.running;
  --answers_;
}

}  // namespace augur
