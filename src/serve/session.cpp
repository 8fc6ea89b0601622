#include "augur/session.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "api/batch.h"
#include "api/engine_access.h"
#include "base/error.h"

namespace augur {
namespace {

/// What the threads of callers and the session's share. Tickets may outlive the session.
struct Shared {
  std::mutex mutex;
  std::condition_variable work;   ///< for the session's thread: there is something to do
  std::condition_variable ended;  ///< a request has ended
};

}  // namespace

struct Ticket::State {
  std::shared_ptr<Shared> shared;
  Request request;
  SubmitOptions options;
  std::atomic<bool> cancelled = false;
  std::optional<Result> result;  ///< under the mutex; set once
};

void Ticket::cancel() {
  state_->cancelled = true;
  const std::lock_guard lock(
      state_->shared->mutex);  // the session's thread looks, or sleeps: nothing between
  state_->shared->work.notify_one();
}

bool Ticket::ended() const {
  const std::lock_guard lock(state_->shared->mutex);
  return state_->result.has_value();
}

Result Ticket::wait() const {
  std::unique_lock lock(state_->shared->mutex);
  state_->shared->ended.wait(lock, [&] { return state_->result.has_value(); });
  return *state_->result;
}

class Session::Impl {
 public:
  using Submitted = std::shared_ptr<Ticket::State>;

  Impl(Engine& engine, const SessionOptions& options)
      : engine_(engine), options_(options), batch_(EngineAccess::decoder(engine)) {
    if (options.parallel < 1 || options.parallel > Engine::kMostParallel) {
      throw Error("session: {} requests at once: expected 1 to {}", options.parallel, Engine::kMostParallel);
    }
    if (options.queue < 1) throw Error("session: a queue of {}: expected 1 or more", options.queue);
    if (!(options.prompt_share >= 0)) {
      throw Error("session: prompts may take a share of {}: expected 0 or more", options.prompt_share);
    }
    EngineAccess::measure_costs(engine);
    EngineAccess::decoder(engine).limit_prompts(options.prompt_share);
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(shared_->mutex);
      closing_ = true;
      for (const Submitted& s : waiting_) s->cancelled = true;
      for (const Submitted& s : running_) s->cancelled = true;
      shared_->work.notify_one();
    }
    thread_.join();
    EngineAccess::decoder(engine_).limit_prompts(std::numeric_limits<double>::infinity());
  }

  Submitted submit(Request request, SubmitOptions options) {
    if (request.cancel != nullptr) throw Error("session: a submitted request is cancelled by its ticket");
    auto state = std::make_shared<Ticket::State>();
    state->shared = shared_;
    state->request = std::move(request);
    state->request.cancel = &state->cancelled;
    state->options = std::move(options);
    const std::lock_guard lock(shared_->mutex);
    if (closing_) throw Error("session: it takes in no more requests");
    if (waiting_.size() >= static_cast<std::size_t>(options_.queue)) {
      throw QueueFull(
          fmt::format("session: {} requests are waiting, which is as many as may", options_.queue));
    }
    const auto behind = [](int priority, const Submitted& other) {
      return priority > other->options.priority;
    };
    waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), state->options.priority, behind),
                    state);
    shared_->work.notify_one();
    return state;
  }

  void drain() {
    std::unique_lock lock(shared_->mutex);
    closing_ = true;
    shared_->work.notify_one();
    shared_->ended.wait(lock, [&] { return waiting_.empty() && running_.empty(); });
  }

  SessionLoad load() const {
    const std::lock_guard lock(shared_->mutex);
    return {.running = running_.size(), .waiting = waiting_.size()};
  }

 private:
  void run() {
    while (admit()) {
      for (const Submitted& s : std::exchange(admitted_, {})) start(s);
      if (batch_.size() == 0) continue;
      try {
        batch_.step();
      } catch (...) {
        batch_.fail(std::current_exception());
      }
    }
  }

  /// Waits for something to do, and moves those who may begin, or need not any more, to admitted_. False when
  /// there is nothing left to do.
  bool admit() {
    std::unique_lock lock(shared_->mutex);
    shared_->work.wait(lock, [&] { return closing_ || !waiting_.empty() || !running_.empty(); });
    for (auto s = waiting_.begin(); s != waiting_.end();) {
      const bool place = running_.size() < static_cast<std::size_t>(options_.parallel);
      if (!place && !(*s)->cancelled) {
        ++s;
        continue;
      }
      running_.push_back(*s);
      admitted_.push_back(std::move(*s));
      s = waiting_.erase(s);
    }
    return !closing_ || !running_.empty();
  }

  void start(const Submitted& s) {
    if (s->cancelled) {
      Result result;
      result.finish_reason = FinishReason::Cancelled;
      end(s, std::move(result));
      return;
    }
    const auto done = [this, s](Result result) { end(s, std::move(result)); };
    try {
      batch_.add(EngineAccess::start(engine_, s->request, s->options.on_token, options_.parallel), done);
    } catch (const Error&) {
      Result refusal = failed(std::current_exception());
      refusal.refused = true;
      done(std::move(refusal));
    } catch (...) {
      done(failed(std::current_exception()));
    }
  }

  void end(const Submitted& s, Result result) {
    try {
      if (s->options.on_result) s->options.on_result(result);
    } catch (...) {
      result = failed(std::current_exception());
    }
    s->options = {};  // what the callbacks hold on to
    const std::lock_guard lock(shared_->mutex);
    s->result = std::move(result);
    std::erase(running_, s);
    shared_->ended.notify_all();
  }

  Engine& engine_;
  const SessionOptions options_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();

  // Under the mutex.
  std::vector<Submitted> waiting_;  ///< in the order in which they are to begin
  std::vector<Submitted> running_;  ///< taken out of waiting_, and not ended
  bool closing_ = false;            ///< nothing more is taken in

  // The thread's own.
  std::vector<Submitted> admitted_;
  Batch batch_;
  std::thread thread_;
};

Session::Session(Engine& engine, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(engine, options)) {}
Session::~Session() = default;

Ticket Session::submit(Request request, SubmitOptions options) {
  return Ticket(impl_->submit(std::move(request), std::move(options)));
}

void Session::drain() {
  impl_->drain();
}

SessionLoad Session::load() const {
  return impl_->load();
}

}  // namespace augur
