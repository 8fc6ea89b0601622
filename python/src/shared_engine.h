#pragma once
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/session.h"
#include "generation.h"

namespace augur::python {

/// Lines of the engine's log, which come on its own threads, until Python takes them.
class LogLines {
 public:
  using Line = std::pair<std::string, std::string>;  ///< the level's name, and the text
  void add(LogLevel level, std::string_view text);
  std::vector<Line> take();

 private:
  std::mutex mutex_;
  std::vector<Line> lines_;
};

/// An engine and the session that all of Python's threads share; the session is opened by the first request.
/// Thread-safe. Functions that take long must be called without the interpreter's lock.
class SharedEngine {
 public:
  SharedEngine(EngineOptions options, const SessionOptions& session);

  /// Error of kind Misuse after close().
  std::shared_ptr<const Engine> engine() const;
  /// SubmitOptions::on_result is called before anyone sees the end.
  std::unique_ptr<Generation> submit(Request request, SubmitOptions options, Told told);
  /// Calls `call(engine)`, which has the engine for itself: the session, if there is one, is closed before.
  /// Error of kind Misuse while requests run or wait.
  template <class Call>
  auto alone(Call call) {
    const std::shared_ptr<Loaded> now = loaded();
    const std::unique_lock lock = locked(now->mutex);
    close_idle_session(*now);
    return call(now->engine);
  }
  SessionLoad load() const;
  std::vector<LogLines::Line> take_log() { return lines_->take(); }
  /// Cancels what runs, and returns when it has ended. Further calls do nothing.
  void close();
  bool closed() const;

 private:
  struct Loaded {
    explicit Loaded(const EngineOptions& options) : engine(options) {}
    /// Lets go of the interpreter's lock meanwhile if its thread has it: the session's thread may be in, or
    /// about to call, code of Python's.
    ~Loaded();
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    Engine engine;
    std::mutex mutex;  ///< for the session: held while it is opened, and while the engine itself computes
    std::unique_ptr<Session> session;
  };
  /// In a child of fork(), where nobody may be left to unlock it, of none.
  std::unique_lock<std::mutex> locked(std::mutex& mutex) const;
  std::shared_ptr<Loaded> loaded() const;
  /// Closes the session, which has nothing to do, so that the engine itself may compute.
  void close_idle_session(Loaded& loaded);

  /// Submitted requests that have not ended.
  std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<LogLines> lines_ = std::make_shared<LogLines>();
  const SessionOptions session_options_;
  const pid_t process_;
  mutable std::mutex mutex_;  ///< for loaded_; never held for long
  std::shared_ptr<Loaded> loaded_;
};

}  // namespace augur::python
