#include "server/hostile/neighbour.h"

#include <algorithm>
#include <utility>

#include "support/eventually.h"

namespace augur::hostile {

using testing_support::wait_until;

Neighbour::Neighbour(Session& session) : session_(session) {
  ask();
}

Neighbour::~Neighbour() {
  std::unique_lock lock(mutex_);
  leaving_ = true;
  holding_ = false;
  let_go_ = held_;
  changed_.notify_all();
  ticket_->cancel();
  wait_until(changed_, lock, [&] { return has_left_; });
}

void Neighbour::hold() {
  std::unique_lock lock(mutex_);
  const std::int64_t before = held_;
  holding_ = true;
  let_go_ = held_;
  changed_.notify_all();
  wait_until(changed_, lock, [&] { return held_ > before; });
}

void Neighbour::let_go() {
  const std::lock_guard lock(mutex_);
  holding_ = false;
  let_go_ = held_;
  changed_.notify_all();
}

std::int64_t Neighbour::longest_wait() {
  const std::lock_guard lock(mutex_);
  return std::exchange(longest_, 0);
}

void Neighbour::ask() {
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 400;
  request.ignore_eos = true;
  request.speculation = SpeculationPlan::parse("none");  // a token a step
  SubmitOptions options;
  options.client = "neighbour";
  options.on_token = [this](const TokenEvent& event) {
    if (event.token >= 0) take_token();
    return true;
  };
  options.on_result = [this](const Result&) {
    if (asks_again()) ask();
  };
  Ticket ticket = session_.submit(std::move(request), std::move(options));
  const std::lock_guard lock(mutex_);
  if (leaving_) ticket.cancel();
  ticket_ = std::move(ticket);
}

/// Until it says no, on the session's thread, this lives.
bool Neighbour::asks_again() {
  const std::lock_guard lock(mutex_);
  last_.reset();
  if (!leaving_) return true;
  has_left_ = true;
  changed_.notify_all();
  return false;
}

void Neighbour::take_token() {
  const std::int64_t now = session_.load().steps;
  std::unique_lock lock(mutex_);
  if (last_) longest_ = std::max(longest_, now - *last_ - 1);
  last_ = now;
  if (!holding_) return;
  ++held_;
  changed_.notify_all();
  wait_until(changed_, lock, [&] { return let_go_ == held_; });
}

}  // namespace augur::hostile
