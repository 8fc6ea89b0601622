#include "generation.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "without_gil.h"

namespace augur::python {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a wait goes on without a look at signals.
constexpr std::chrono::milliseconds kSignals(50);

Piece owned(const TokenEvent& event) {
  Piece piece;
  piece.token = event.token;
  piece.text = event.text;
  piece.proposer = event.proposer;
  piece.depth = event.depth;
  if (event.logprobs != nullptr) piece.logprobs = *event.logprobs;
  return piece;
}

Round owned(const DraftRound& round) {
  Round made;
  static_cast<RoundFigures&>(made) = round;
  made.nodes.reserve(round.nodes.size());
  for (const DraftRound::Node& node : round.nodes) {
    made.nodes.push_back(
        {node.token, node.parent, std::string(node.proposer), node.probability, node.accepted});
  }
  return made;
}

}  // namespace

/// What the session's thread and Python's threads share.
struct Generation::Shared {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<Piece> pieces;
  std::vector<Round> rounds;
  Result result;
  bool ended = false;
  int event = -1;

  ~Shared() {
    if (event >= 0) ::close(event);
  }

  /// Call with the lock.
  void tell() {
    changed.notify_all();
    if (event < 0) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof(one));
  }
};

Generation::Generation(Session& session, Request request, SubmitOptions options, Told told)
    : shared_(std::make_shared<Shared>()), process_(getpid()) {
  if (told.rounds) {
    request.on_round = [shared = shared_](const DraftRound& round) {
      const std::lock_guard lock(shared->mutex);
      shared->rounds.push_back(owned(round));
    };
  }
  if (told.pieces) {
    options.on_token = [shared = shared_](const TokenEvent& event) {
      const std::lock_guard lock(shared->mutex);
      shared->pieces.push_back(owned(event));
      shared->tell();
      return true;
    };
  }
  options.on_result = [shared = shared_, first = std::move(options.on_result)](const Result& result) {
    if (first) first(result);
    const std::lock_guard lock(shared->mutex);
    shared->result = result;
    shared->ended = true;
    shared->tell();
  };
  ticket_ = session.submit(std::move(request), std::move(options));
}

Generation::~Generation() {
  if (getpid() == process_ && !ended()) ticket_->cancel();
}

template <class Condition>
bool Generation::wait_until(double seconds, Condition condition) {
  check_process();
  constexpr double kLongest = 1e9;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(std::clamp(seconds, 0.0, kLongest)));
  while (true) {
    {
      const WithoutGil others_run;
      std::unique_lock lock(shared_->mutex);
      if (shared_->changed.wait_until(lock, std::min(end, Clock::now() + kSignals), condition)) return true;
    }
    raise_signals();
    if (Clock::now() >= end) return false;
  }
}

std::vector<Piece> Generation::take() {
  wait_until(std::numeric_limits<double>::infinity(),
             [&] { return shared_->ended || !shared_->pieces.empty(); });
  return take_ready();
}

std::vector<Piece> Generation::take_ready() {
  check_process();
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->pieces, {});
}

bool Generation::wait(double seconds) {
  return wait_until(seconds, [&] { return shared_->ended; });
}

bool Generation::ended() const {
  check_process();
  const std::lock_guard lock(shared_->mutex);
  return shared_->ended;
}

void Generation::cancel() {
  check_process();
  ticket_->cancel();
}

int Generation::descriptor() {
  check_process();
  const std::lock_guard lock(shared_->mutex);
  if (shared_->event < 0) {
    const bool news = shared_->ended || !shared_->pieces.empty();
    shared_->event = ::eventfd(news ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (shared_->event < 0) {
      throw Error(ErrorKind::OutOfMemory, std::string("the system gives no further event descriptors"));
    }
  }
  return shared_->event;
}

void Generation::clear_descriptor() {
  check_process();
  const std::lock_guard lock(shared_->mutex);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(shared_->event, &count, sizeof(count));
}

const Result& Generation::result() const {
  if (!ended()) throw Error(ErrorKind::Misuse, std::string("the request has not ended: it has no result"));
  return shared_->result;
}

const std::vector<Round>& Generation::rounds() const {
  if (!ended()) throw Error(ErrorKind::Misuse, std::string("the request has not ended: its rounds go on"));
  return shared_->rounds;
}

void Generation::check_process() const {
  if (getpid() == process_) return;
  throw Error(
      ErrorKind::Misuse,
      std::string("a child of fork() cannot use its parent's requests; it may load an engine of its own"));
}

}  // namespace augur::python
