#include "augur/session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/own_environment.h"
#include "base/process_mark.h"
#include "base/start_thread.h"
#include "base/system_memory.h"
#include "draft/lookup/earlier_outputs.h"
#include "engine/batch.h"
#include "engine/engine_access.h"
#include "engine/engine_owner.h"
#include "engine/owner_name.h"
#include "engine/session_check.h"
#include "session/job_pool.h"
#include "session/kept_text_file.h"
#include "session/kv_budget.h"
#include "session/session_access.h"
#include "session/turns.h"

namespace augur {
namespace {

/// What the threads of callers and the session's share. Tickets may outlive the session.
struct Shared {
  const ProcessMark process{};
  std::mutex mutex;
  std::condition_variable work;   ///< for the session's thread: there is something to do
  std::condition_variable ended;  ///< a request has ended
};

/// Of the session whose thread this is; null: of none.
thread_local const Shared* serving = nullptr;

void require_here(const Shared& shared) {
  shared.process.require_here("a session");
}

/// Error on the session's own threads, which `what` would wait for.
void require_other_thread(const Shared& shared, const char* what) {
  require_here(shared);
  if (serving == &shared)
    throw Error(
        ErrorKind::Misuse,
        "{}: it waits for the session in one of the session's callbacks, which the session waits for: "
        "callbacks may submit and cancel",
        what);
}

}  // namespace

struct __attribute__((visibility("hidden"))) Ticket::State {
  std::shared_ptr<Shared> shared;
  Request request;
  SubmitOptions options;
  std::atomic<bool> cancelled = false;
  Turn turn;
  std::unique_ptr<Generation> paused;     ///< it has run, and waits for a place again; the session's thread's
  bool pausing = false;                   ///< it has been in the batch, and waits again
  std::atomic<bool> crowded_out = false;  ///< of the queue
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool expired = false;
  std::optional<Result> result;  ///< under the mutex; set once
  // The request's grammar, under the mutex as long as it is being compiled.
  bool compiling = false;
  std::shared_ptr<const CompiledGrammar> grammar;
  std::exception_ptr no_grammar;  ///< why it is none

  /// It need not wait for its turn, as it has none.
  bool over() const { return cancelled || no_grammar; }
  bool waits() const { return !compiling && !cancelled; }
};

Ticket::State& Ticket::usable() const {
  if (state_ == nullptr) throw Error(ErrorKind::Misuse, "the ticket has been moved from");
  require_here(*state_->shared);
  return *state_;
}

void Ticket::cancel() {
  State& state = usable();
  state.cancelled = true;
  const std::lock_guard lock(state.shared->mutex);  // the session's thread looks, or sleeps: nothing between
  state.shared->work.notify_one();
}

bool Ticket::ended() const {
  const State& state = usable();
  const std::lock_guard lock(state.shared->mutex);
  return state.result.has_value();
}

Result Ticket::wait() const {
  const State& state = usable();
  std::unique_lock lock(state.shared->mutex);
  if (!state.result) require_other_thread(*state.shared, "Ticket::wait()");
  state.shared->ended.wait(lock, [&] { return state.result.has_value(); });
  return *state.result;
}

std::vector<std::string> Ticket::warnings() const {
  const State& state = usable();
  const std::lock_guard lock(state.shared->mutex);
  return state.grammar == nullptr ? std::vector<std::string>() : state.grammar->warnings();
}

class __attribute__((visibility("hidden"))) Session::Impl {
 public:
  using Submitted = std::shared_ptr<Ticket::State>;

  Impl(Engine& engine, const SessionOptions& options)
      : engine_(EngineAccess::share(engine)),
        hold_(EngineAccess::owner(engine), EngineOwner::Use::Session, "Session"),
        options_(checked(options)),
        form_{.fingerprint = engine.info().fingerprint,
              .law = engine.info().law,
              .vocab = engine.info().vocab,
              .target = EngineAccess::model(engine).make_cache(),
              .drafters = EngineAccess::row_keepers(engine)},
        kept_(options_.cache_bytes),
        budget_(options_.memory, options_.cache_bytes, form_, kept_, EngineAccess::drafters(engine)),
        batch_(EngineAccess::decoder(engine)),
        turns_(options_.priorities_across_clients),
        compilers_(options_.compilers, "augur-grammar", [this] { serving = shared_.get(); }),
        files_(1, "augur-files", [this] { serving = shared_.get(); }) {
    if (const std::int64_t least = KvBudget::least(form_.target); options_.memory < least) {
      const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
      throw Error(
          refused("memory"),
          "session: {:.1f} MiB of memory for the keys and values of requests: expected {:.1f} MiB at least, "
          "which {} tokens take",
          mib(options_.memory), mib(least), kKvPageSlots);
    }
    // Who is taken in is not to be lost for want of memory.
    constexpr std::size_t kMost = 1 << 16;
    const std::size_t most = std::min(
        kMost, static_cast<std::size_t>(options_.parallel) + static_cast<std::size_t>(options_.queue));
    for (std::vector<Submitted>* list : {&waiting_, &running_, &admitted_, &beginning_, &pausing_})
      list->reserve(most);
    for (std::vector<Submitted*>* list : {&candidates_, &rivals_}) list->reserve(most);
    for (std::vector<const Turn*>* list : {&candidate_turns_, &rival_turns_}) list->reserve(most);
    budget_.settle();
    EngineAccess::measure_costs(engine);
    Decoder& decoder = EngineAccess::decoder(engine);
    decoder.limit_prompts(options.prompt_share);
    decoder.throw_for_memory(true);
    if (options.cache_bytes > 0) decoder.reuse_prefixes(&kept_);
    decoder.make_masks_elsewhere([this](std::function<void()> job) {
      compilers_.add([this, job = std::move(job)] {
        job();
        const std::lock_guard lock(shared_->mutex);
        shared_->work.notify_one();
      });
    });
    note_load();
    thread_ = start_thread("augur-session", [this] {
      serving = shared_.get();
      run();
      if (orphaned_) end_orphaned();
    });
  }

  /// With the memory that there is in place of 0.
  static SessionOptions checked(SessionOptions options) {
    check(options);
    if (options.memory == 0) {
      const std::optional<std::int64_t> available = available_memory();
      if (available == 0)
        throw Error(ErrorKind::OutOfMemory, "session: no memory is left for the texts of requests");
      options.memory = available
                           ? static_cast<std::int64_t>(static_cast<double>(*available) * options.memory_share)
                           : std::numeric_limits<std::int64_t>::max();
    }
    return options;
  }

  /// Ends a session that its owner gives up. On one of its own threads nobody can wait for its end: then it
  /// ends by itself, once its callbacks have returned. In a child of fork there is nobody to end it.
  static void give_up(std::unique_ptr<Impl> session) {
    if (session == nullptr) return;
    Shared& shared = *session->shared_;
    if (!shared.process.here()) return void(session.release());
    if (serving != &shared) return;
    Impl& orphan = *session.release();
    const std::lock_guard lock(shared.mutex);
    orphan.closing_ = true;
    orphan.orphaned_ = true;
    orphan.cancel_all();
    orphan.ending_ = true;
    shared.work.notify_one();
  }

  ~Impl() {
    if (!orphaned_) {
      {
        const std::lock_guard lock(shared_->mutex);
        closing_ = true;
        cancel_all();
      }
      files_.finish();  // whose jobs end on the thread
      {
        const std::lock_guard lock(shared_->mutex);
        ending_ = true;
        shared_->work.notify_one();
      }
      thread_.join();
    }
    EngineAccess::decoder(engine_).limit_prompts(std::numeric_limits<double>::infinity());
    EngineAccess::decoder(engine_).throw_for_memory(false);
    EngineAccess::decoder(engine_).reuse_prefixes(nullptr);
    EngineAccess::decoder(engine_).make_masks_elsewhere(nullptr);
    EngineAccess::drafters(engine_).limit_learnt(EarlierOutputs::kUsualBytes);
  }

  Submitted submit(Request request, SubmitOptions options) {
    require_here();
    const OwnEnvironment environment;
    const std::optional<Grammar> grammar = request.grammar;
    Submitted state = enqueue(std::move(request), std::move(options));
    try {
      if (state->compiling) compilers_.add([this, state, grammar] { compile(*grammar, *state); });
    } catch (...) {
      compiled(*state, nullptr, std::current_exception());
    }
    return state;
  }

  Submitted enqueue(Request request, SubmitOptions options) {
    if (request.cancel != nullptr)
      throw Error(refused("cancel"), "session: a submitted request is cancelled by its ticket");
    auto state = std::make_shared<Ticket::State>();
    state->shared = shared_;
    state->request = std::move(request);
    state->request.cancel = &state->cancelled;
    state->options = std::move(options);
    if (state->options.seconds > 0) {
      state->deadline = std::chrono::steady_clock::now() + time_of(state->options.seconds);
    }
    const std::lock_guard lock(shared_->mutex);
    if (closing_) throw Error(ErrorKind::Misuse, "session: it takes in no more requests");
    make_room_in_queue(state->options);
    if (const std::optional<Grammar>& grammar = state->request.grammar) {
      state->grammar = EngineAccess::grammars(engine_).find(*grammar);
      state->compiling = state->grammar == nullptr;
    }
    waiting_.push_back(state);
    try {
      Known& known = clients_.try_emplace(state->options.client).first->second;
      known.client.name = state->options.client;
      state->turn = {.client = &known.client, .priority = state->options.priority, .number = ++clock_};
      ++known.requests;
    } catch (...) {
      waiting_.pop_back();
      throw;
    }
    unsettled_ = true;
    shared_->work.notify_one();
    return state;
  }

  /// Under the mutex. Of those that have run already none is turned away, nor do they take up room.
  void make_room_in_queue(const SubmitOptions& options) {
    collect(waiting_, candidates_, candidate_turns_,
            [](const Ticket::State& s) { return !s.pausing && !s.crowded_out; });
    if (candidates_.size() < static_cast<std::size_t>(options_.queue)) return;
    const auto known = clients_.find(options.client);
    Client stranger;
    const Turn newcomer{.client = known == clients_.end() ? &stranger : &known->second.client,
                        .priority = options.priority};
    const std::optional<std::size_t> least = turns_.gives_way(newcomer, candidate_turns_);
    if (!least) {
      throw QueueFull(
          fmt::format("session: {} requests are waiting, which is as many as may", options_.queue));
    }
    Ticket::State& gone = **candidates_[*least];
    gone.crowded_out = true;
    gone.cancelled = true;
  }

  /// Those of a list that `which` is true for, and their turns. Under the mutex; allocates nothing as long as
  /// no more wait than may.
  template <class Which>
  static void collect(std::vector<Submitted>& from, std::vector<Submitted*>& to,
                      std::vector<const Turn*>& turns, const Which& which) {
    to.clear();
    turns.clear();
    for (Submitted& s : from) {
      if (!which(*s)) continue;
      to.push_back(&s);
      turns.push_back(&s->turn);
    }
  }

  /// A job about a text's file: what it returns, or what is thrown in it, is told; nothing, where it has
  /// handed `done` on.
  template <class Job>
  static std::function<void()> told(TextFileCallback done, Job job) {
    return [done = std::move(done), job = std::move(job)] {
      std::optional<TextFile> file;
      try {
        file = job(done);
      } catch (...) {
        file.emplace().error = failed(std::current_exception()).error;
      }
      if (!file || !done) return;
      tell([&] { done(*file); });
    };
  }

  /// What a callback throws that has nobody to tell it to, is dropped.
  template <class Call>
  static void tell(const Call& call) {
    try {
      const HostEnvironment host;
      call();
    } catch (...) {
    }
  }

  void ping(std::function<void()> done) {
    if (!done) throw Error(refused("done"), "Session::ping(): expected a callback");
    post([done = std::move(done)] { tell(done); });
  }

  /// On the session's thread, between two steps.
  void post(std::function<void()> job) {
    require_here();
    const std::lock_guard lock(shared_->mutex);
    jobs_.push_back(std::move(job));
    shared_->work.notify_one();
  }

  using Told = std::optional<TextFile>;

  static std::string name_of(const TextOwner& owner) { return owner_name(owner.tenant, owner.salt); }

  void save_text(std::vector<TokenId> tokens, std::string path, TextFileCallback done,
                 const TextOwner& owner) {
    const auto find = [this, tokens = std::move(tokens), path = std::move(path),
                       owner = name_of(owner)](const auto& hand_on) -> Told {
      const Watch watch;
      const PrefixCache::Hit found = kept_.longest(owner, tokens);
      if (found.entry == nullptr) return TextFile{.error = "nothing is kept of this text"};
      auto text = std::make_shared<KeptText>(beginning(tokens, found));
      files_.add(told(hand_on, [this, watch, text, path](const auto&) -> Told {
        return watch.file([&](TextFile& file) {
          file.tokens = std::ssize(text->tokens);
          file.bytes = write_kept_text(path, form_, *text);
        });
      }));
      return std::nullopt;
    };
    post(told(std::move(done), find));
  }

  void load_text(std::string path, TextFileCallback done, const TextOwner& owner) {
    const auto load_file = [this, path = std::move(path),
                            owner = name_of(owner)](const auto& hand_on) -> Told {
      const Watch watch;
      auto text = std::make_shared<KeptText>(KeptText{.tokens = {}, .entry = {.target = form_.target}});
      TextFile file = watch.file([&](TextFile& read) {
        if (options_.cache_bytes == 0)
          throw Error(ErrorKind::Unsupported, "{}: this server keeps no texts", path);
        *text = read_kept_text(path, form_, options_.cache_bytes);
        read.tokens = std::ssize(text->tokens);
        read.bytes = text->bytes;
      });
      post(told(hand_on, [this, text, file, owner](const auto&) -> Told {
        if (file.error.empty()) kept_.keep(owner, text->tokens, std::move(text->entry));
        note_load();
        return file;
      }));
      return std::nullopt;
    };
    require_here();
    files_.add(told(std::move(done), load_file));
  }

  void forget_text(std::vector<TokenId> tokens, TextFileCallback done, const TextOwner& owner) {
    post(told(std::move(done),
              [this, tokens = std::move(tokens), owner = name_of(owner)](const auto&) -> Told {
                const std::int64_t forgotten = kept_.forget(owner, tokens);
                note_load();
                return TextFile{.tokens = forgotten};
              }));
  }

  std::size_t drain(double seconds) {
    require_other_thread("Session::drain()");
    std::unique_lock lock(shared_->mutex);
    closing_ = true;
    shared_->work.notify_one();
    const auto ended = [&] { return waiting_.empty() && running_.empty(); };
    if (shared_->ended.wait_for(lock, time_of(seconds), ended)) return 0;
    const std::size_t left = waiting_.size() + running_.size();
    cancel_all();
    shared_->ended.wait(lock, ended);
    return left;
  }

  SessionLoad load() const {
    require_here();
    const std::lock_guard lock(shared_->mutex);
    SessionLoad load = load_;
    load.waiting += waiting_.size();
    return load;
  }

  void require_here() const { augur::require_here(*shared_); }
  void require_other_thread(const char* what) const { augur::require_other_thread(*shared_, what); }

 private:
  /// On the session's thread, at its end.
  void end_orphaned() {
    files_.finish();  // whose jobs end on this thread
    run();
    thread_.detach();
    delete this;
  }

  /// Of seconds that may be infinite.
  static std::chrono::steady_clock::duration time_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(std::min(seconds, 1e9)));
  }

  /// Under the mutex.
  void cancel_all() {
    for (const auto* some : {&waiting_, &running_}) {
      for (const Submitted& s : *some) s->cancelled = true;
    }
    shared_->work.notify_one();
  }

  /// Times what is done with a file, and makes an error of what is thrown.
  struct Watch {
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    template <class Call>
    TextFile file(Call&& call) const {
      TextFile file;
      try {
        call(file);
      } catch (...) {
        file = {};
        file.error = describe(std::current_exception());
      }
      file.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
      return file;
    }
  };

  /// What a kept text knows of the tokens that it has in common with others.
  static KeptText beginning(std::span<const TokenId> tokens, const PrefixCache::Hit& found) {
    const auto count = static_cast<std::size_t>(found.tokens);
    KeptText text{.tokens = {tokens.begin(), tokens.begin() + found.tokens}, .entry = *found.entry};
    text.entry.target.truncate(found.tokens);
    std::erase_if(text.entry.drafters,
                  [&](const PrefixCache::Drafted& drafted) { return !drafted.rows.holds(found.tokens); });
    for (PrefixCache::Drafted& drafted : text.entry.drafters) {
      SequenceRows::Kept& rows = drafted.rows;
      const std::size_t in_cache = std::min(count, static_cast<std::size_t>(rows.cache.length()));
      const std::size_t waiting = std::min(count - in_cache, rows.tokens.size());
      rows.features.truncate(static_cast<std::int64_t>(waiting));
      rows.tokens.resize(waiting);
      rows.cache.truncate(static_cast<std::int64_t>(in_cache));
    }
    return text;
  }

  /// On a compiler's thread, so that nobody else waits for it. A request that is cancelled, or whose time is
  /// over, is not kept waiting for its grammar.
  void compile(const Grammar& grammar, Ticket::State& state) {
    std::shared_ptr<const CompiledGrammar> compiled;
    std::exception_ptr problem;
    const auto over = [&] {
      return state.cancelled || (state.deadline && std::chrono::steady_clock::now() >= *state.deadline);
    };
    try {
      if (!over()) compiled = EngineAccess::grammars(engine_).compile(grammar, {.stopped = over});
    } catch (const GrammarStopped&) {
    } catch (...) {
      problem = std::current_exception();
    }
    this->compiled(state, std::move(compiled), problem);
  }

  void compiled(Ticket::State& state, std::shared_ptr<const CompiledGrammar> grammar,
                const std::exception_ptr& problem) {
    const std::lock_guard lock(shared_->mutex);
    state.grammar = std::move(grammar);
    state.no_grammar = problem;
    state.compiling = false;
    unsettled_ = true;
    shared_->work.notify_one();
  }

  void run() {
    while (admit()) {
      for (const Submitted& s : pausing_) s->paused = batch_.take_out(s->turn.number);
      pausing_.clear();
      for (const auto& job : std::exchange(now_, {})) job();
      beginning_.swap(admitted_);
      for (const Submitted& s : beginning_) start(s);
      beginning_.clear();
      if (batch_.empty()) continue;
      try {
        share_memory();
        ++steps_;
        batch_.step();
        budget_.recover();
      } catch (...) {
        step_failed(std::current_exception());
      }
      budget_.settle();  // texts that have ended have left what they taught
      note_load();
    }
  }

  /// Who runs in the next step: as many as there is memory for, and one at least. One that is alone and does
  /// not fit with its drafters goes on without them.
  void share_memory() {
    const auto fits = [&] { return budget_.make_room(KvBudget::growth(batch_.running())); };
    while (!fits() && (suspend_one() || batch_.stop_drafting())) {
    }
    while (true) {
      const std::vector<const Turn*> waiting = turns_of(batch_.waiting_numbers());
      if (waiting.empty()) break;
      const Turn& next = *waiting[turns_.next(waiting, turns_of(batch_.running_numbers()))];
      const std::vector<const Sequence*> running = batch_.running();
      const std::int64_t room = KvBudget::growth(running) + KvBudget::whole(batch_.sequence(next.number));
      if (!budget_.make_room(room) && !running.empty()) break;
      batch_.begin(next.number);
    }
  }

  /// A step that finds no memory, though the budget has some left, has changed nothing, and is made again
  /// with less: without kept texts; then without the last request, which waits; then without the only one's
  /// drafters.
  void step_failed(const std::exception_ptr& why) {
    try {
      if (is_want_of_memory(why) && (budget_.drop_kept() || suspend_one() || batch_.stop_drafting())) {
        budget_.shrink(KvBudget::growth(batch_.running()));
        return;
      }
    } catch (...) {  // there is no memory even for that
    }
    batch_.fail(why);
  }

  bool suspend_one() {
    if (batch_.size() < 2) return false;
    const std::vector<const Turn*> running = turns_of(batch_.running_numbers());
    batch_.suspend(running[turns_.last(running)]->number);
    ++preemptions_;
    return true;
  }

  /// Of requests in the batch. Nobody else changes running_.
  std::vector<const Turn*> turns_of(const std::vector<std::int64_t>& numbers) const {
    std::vector<const Turn*> turns;
    for (const std::int64_t number : numbers) {
      const auto found = std::find_if(running_.begin(), running_.end(),
                                      [&](const Submitted& s) { return s->turn.number == number; });
      turns.push_back(&(*found)->turn);
    }
    return turns;
  }

  /// Where there is no memory to look it up, what it was.
  std::int64_t memory_running() {
    try {
      return budget_.held_by(batch_.running());
    } catch (const std::bad_alloc&) {
      return load_.memory_running;
    }
  }

  void note_load() {
    const std::size_t running = batch_.size();
    const std::int64_t memory_running = this->memory_running();
    const std::lock_guard lock(shared_->mutex);
    load_ = {.running = running,
             .waiting = running_.size() - std::min(running, running_.size()),
             .steps = steps_,
             .preemptions = preemptions_,
             .memory = options_.memory,
             .memory_in_use = budget_.in_use(),
             .memory_running = memory_running,
             .page_tokens = static_cast<int>(kKvPageSlots),
             .page_bytes = form_.target.page_bytes(),
             .keeps_texts = options_.cache_bytes > 0,
             .cache_bytes_in_use = kept_.bytes(),
             .prompt_tokens = kept_.counts().queried_tokens,
             .cached_tokens = kept_.counts().known_tokens,
             .drafted_tokens = load_.drafted_tokens,
             .accepted_tokens = load_.accepted_tokens};
  }

  /// Waits for something to do, and moves those who may begin, or need not any more, to admitted_. False when
  /// there is nothing left to do.
  bool admit() {
    std::unique_lock lock(shared_->mutex);
    wait_for_work(lock);
    now_ = std::exchange(jobs_, {});
    const auto now = std::chrono::steady_clock::now();
    for (const auto* some : {&running_, &waiting_}) {
      for (const Submitted& s : *some) {
        if (!s->deadline || now < *s->deadline || s->cancelled) continue;
        s->expired = true;
        s->cancelled = true;
      }
    }
    for (auto s = waiting_.begin(); s != waiting_.end();) {
      (*s)->over() ? take(s) : void(++s);
    }
    share_places();
    return !ending_ || !now_.empty() || !running_.empty() || !waiting_.empty();
  }

  void wait_for_work(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      if (!jobs_.empty() || ending_) return;
      const bool sits_out = batch_.sits_out();
      if (sits_out ? unsettled_ : !running_.empty()) return;
      // Of those that wait, who need not wait any more.
      std::optional<std::chrono::steady_clock::time_point> next;
      const auto now = std::chrono::steady_clock::now();
      for (const auto* some : {&running_, &waiting_}) {
        for (const Submitted& s : *some) {
          if (s->cancelled || (s->deadline && now >= *s->deadline)) return;
          if (!sits_out && !s->compiling) return;
          if (s->deadline && (!next || *s->deadline < *next)) next = s->deadline;
        }
      }
      next ? void(shared_->work.wait_until(lock, *next)) : shared_->work.wait(lock);
    }
  }

  using Waiting = std::vector<Submitted>::iterator;

  /// Moves a request from waiting_ to those that are begun now, and the iterator to the one behind it.
  void take(Waiting& s) {
    (*s)->turn.settled = false;
    running_.push_back(*s);
    admitted_.push_back(std::move(*s));
    s = waiting_.erase(s);
  }

  /// Who runs from here on: as many as may, and in place of some of those that do whose turn it is.
  void share_places() {
    if (!std::exchange(unsettled_, false)) return;
    while (true) {
      collect(waiting_, candidates_, candidate_turns_, [](const Ticket::State& s) { return s.waits(); });
      if (candidates_.empty()) return;
      collect(running_, rivals_, rival_turns_, [](const Ticket::State&) { return true; });
      Submitted& next = *candidates_[turns_.next(candidate_turns_, rival_turns_)];
      Client& client = *next->turn.client;
      if (running_.size() >= static_cast<std::size_t>(options_.parallel)) {
        const std::optional<std::size_t> worst = turns_.gives_way(next->turn, rival_turns_);
        if (!worst) return;
        pause(*rivals_[*worst], next);
      } else {
        auto place = waiting_.begin() + (&next - waiting_.data());
        take(place);
      }
      client.served = ++clock_;
    }
  }

  /// Gives a running request's place to one that waits.
  void pause(Submitted& running, Submitted& waiting) {
    ++preemptions_;
    running->pausing = true;
    waiting->turn.settled = false;
    pausing_.push_back(running);
    admitted_.push_back(waiting);
    std::swap(running, waiting);
  }

  /// Error for a plan that asks for more than a request may.
  void check_drafts(const SpeculationPlan& asked) const {
    const SpeculationPlan own = engine_.speculation();
    const auto check = [](const char* key, std::optional<int> value, std::optional<int> ours, int most) {
      most = std::max(most, ours.value_or(0));
      if (value && *value > most)
        throw Error(refused("speculative"), "speculation: {}={}: a request may ask for at most {}", key,
                    *value, most);
    };
    check("n-max", asked.draft_max, own.draft_max, options_.drafts.nodes);
    check("size", asked.tree_size, own.tree_size, options_.drafts.nodes);
    check("depth", asked.tree_depth, own.tree_depth, options_.drafts.depth);
    check("topk", asked.tree_topk, own.tree_topk, options_.drafts.topk);
  }

  void start(const Submitted& s) {
    const auto done = [this, s](Result result) { end(s, std::move(result)); };
    if (s->cancelled && !s->paused) {
      Result result;
      result.finish_reason = FinishReason::Cancelled;
      return done(std::move(result));
    }
    std::string field;  // that is to blame
    try {
      if (s->paused) {
        batch_.add(std::move(s->paused), done, s->turn.number);
        return started(*s);
      }
      if (s->no_grammar) {
        field = s->request.grammar->field;
        std::rethrow_exception(s->no_grammar);
      }
      if (s->request.speculation) {
        field = "speculative";
        check_drafts(*s->request.speculation);
        field.clear();
      }
      auto generation = EngineAccess::start(engine_, s->request, s->options.on_token, options_.parallel,
                                            s->grammar, s->options.tenant);
      if (s->options.on_warnings && s->grammar && !s->grammar->warnings().empty()) {
        const HostEnvironment host;
        s->options.on_warnings(s->grammar->warnings());
      }
      generation->sequence().limit_length(budget_.most_tokens(generation->sequence()));
      batch_.add(std::move(generation), done, s->turn.number);
      started(*s);
    } catch (...) {
      Result result = failed(std::current_exception());
      result.refused = blames_caller(*result.error_kind);
      if (result.refused && result.refused_field.empty()) result.refused_field = field;
      done(std::move(result));
    }
  }

  void started(Ticket::State& state) {
    const std::lock_guard lock(shared_->mutex);
    state.pausing = false;
    state.turn.settled = true;
    unsettled_ = true;
  }

  void end(const Submitted& s, Result result) {
    if (s->crowded_out && result.finish_reason == FinishReason::Cancelled) {
      result.finish_reason = FinishReason::Error;
      result.error = fmt::format("as many requests wait as may ({}), and this client has the most of them",
                                 options_.queue);
      result.error_kind = ErrorKind::QueueFull;
      result.crowded_out = true;
    }
    if (s->expired && result.finish_reason == FinishReason::Cancelled) {
      result.finish_reason = FinishReason::Error;
      result.error = fmt::format("the request has not ended within {} seconds", s->options.seconds);
      result.error_kind = ErrorKind::Cancelled;
      result.expired = true;
    }
    try {
      const HostEnvironment host;
      if (s->options.on_result) s->options.on_result(result);
    } catch (...) {
      result = failed(std::current_exception(), std::move(result));
    }
    s->options = {};  // what the callbacks hold on to
    s->request = {};
    const std::lock_guard lock(shared_->mutex);
    s->grammar.reset();
    load_.drafted_tokens += result.speculation.verified_tokens - result.speculation.calls;
    load_.accepted_tokens += result.speculation.accepted_tokens;
    s->result = std::move(result);
    std::erase(running_, s);
    const auto client = clients_.find(s->turn.client->name);
    if (--client->second.requests == 0) clients_.erase(client);
    unsettled_ = true;
    shared_->ended.notify_all();
  }

  Engine engine_;  ///< shares what the caller's has loaded, which may go
  const EngineOwner::Hold hold_;
  const SessionOptions options_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();

  // Under the mutex.
  std::vector<Submitted> waiting_;
  std::vector<Submitted> running_;  ///< taken out of waiting_, and not ended
  std::vector<std::function<void()>> jobs_;
  bool closing_ = false;                ///< nothing more is taken in
  bool ending_ = false;                 ///< nothing more will come
  std::atomic<bool> orphaned_ = false;  ///< it ends by itself
  std::int64_t clock_ = 0;              ///< counts what Turn and Client tell the time by
  struct Known {
    Client client;
    int requests = 0;  ///< that wait or run
  };
  std::map<std::string, Known> clients_;  ///< that have some
  SessionLoad load_;                      ///< but for waiting_
  bool unsettled_ = false;                ///< whose turn it is may have changed
  std::vector<Submitted*> candidates_;    ///< scratch, as the next three
  std::vector<const Turn*> candidate_turns_;
  std::vector<Submitted*> rivals_;
  std::vector<const Turn*> rival_turns_;

  // The thread's own.
  std::vector<Submitted> pausing_;  ///< that give their places in this turn
  std::vector<Submitted> admitted_;
  std::vector<Submitted> beginning_;        ///< those that were admitted in this turn
  std::vector<std::function<void()>> now_;  ///< jobs of this turn
  const KeptTextForm form_;
  PrefixCache kept_;
  KvBudget budget_;
  Batch batch_;
  std::int64_t steps_ = 0;        ///< of the batch
  std::int64_t preemptions_ = 0;  ///< SessionLoad::preemptions
  const Turns turns_;
  std::thread thread_;
  JobPool compilers_;
  JobPool files_;
};

Session::Session(Engine& engine, const SessionOptions& options) {
  const OwnEnvironment environment;
  impl_ = std::make_unique<Impl>(engine, options);
}
Session::~Session() {
  Impl::give_up(std::move(impl_));
}

void SessionAccess::require_other_thread(const Session& session, const char* what) {
  session.impl_->require_other_thread(what);
}

Ticket Session::submit(Request request, SubmitOptions options) {
  return Ticket(impl_->submit(std::move(request), std::move(options)));
}

// NOLINTBEGIN(performance-unnecessary-value-param): callers name the owner in place
void Session::save_text(std::vector<TokenId> tokens, std::string path, TextFileCallback done,
                        TextOwner owner) {
  impl_->save_text(std::move(tokens), std::move(path), std::move(done), owner);
}

void Session::load_text(std::string path, TextFileCallback done, TextOwner owner) {
  impl_->load_text(std::move(path), std::move(done), owner);
}

void Session::forget_text(std::vector<TokenId> tokens, TextFileCallback done, TextOwner owner) {
  impl_->forget_text(std::move(tokens), std::move(done), owner);
}
// NOLINTEND(performance-unnecessary-value-param)

void Session::ping(std::function<void()> done) {
  impl_->ping(std::move(done));
}

std::size_t Session::drain(double seconds) {
  return impl_->drain(seconds);
}

SessionLoad Session::load() const {
  return impl_->load();
}

}  // namespace augur
