#include "shared_engine.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <utility>

namespace augur::python {

void LogLines::add(LogLevel level, std::string_view text) {
  const std::lock_guard lock(mutex_);
  lines_.push_back({std::string(name(level)), std::string(text)});
}

std::vector<LogLines::Line> LogLines::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

SharedEngine::SharedEngine(EngineOptions options, const SessionOptions& session)
    : session_options_(session), process_(getpid()) {
  options.log = [lines = lines_](LogLevel level, std::string_view text) { lines->add(level, text); };
  loaded_ = std::make_shared<Loaded>(options);
}

SharedEngine::Loaded::~Loaded() {
  PyThreadState* const state = PyGILState_Check() == 1 ? PyEval_SaveThread() : nullptr;
  session.reset();
  if (state != nullptr) PyEval_RestoreThread(state);
}

std::unique_lock<std::mutex> SharedEngine::locked(std::mutex& mutex) const {
  return getpid() == process_ ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

std::shared_ptr<SharedEngine::Loaded> SharedEngine::loaded() const {
  const std::unique_lock lock = locked(mutex_);
  if (loaded_ == nullptr) throw Error(ErrorKind::Misuse, std::string("the engine is closed"));
  return loaded_;
}

std::shared_ptr<const Engine> SharedEngine::engine() const {
  const std::shared_ptr<Loaded> now = loaded();
  return {now, &now->engine};
}

std::unique_ptr<Generation> SharedEngine::submit(Request request, SubmitOptions options, Told told) {
  const std::shared_ptr<Loaded> now = loaded();
  const std::unique_lock lock = locked(now->mutex);
  if (now->session == nullptr) now->session = std::make_unique<Session>(now->engine, session_options_);
  options.on_result = [running = running_, first = std::move(options.on_result)](const Result& result) {
    if (first) first(result);
    --*running;
  };
  ++*running_;
  try {
    return std::make_unique<Generation>(*now->session, std::move(request), std::move(options), told);
  } catch (...) {
    --*running_;
    throw;
  }
}

void SharedEngine::close_idle_session(Loaded& loaded) {
  if (loaded.session == nullptr) return;
  if (*running_ > 0) {
    throw Error(ErrorKind::Misuse, std::string("requests are running; wait until they have ended"));
  }
  loaded.session.reset();
}

SessionLoad SharedEngine::load() const {
  const std::shared_ptr<Loaded> now = loaded();
  const std::unique_lock lock = locked(now->mutex);
  return now->session == nullptr ? SessionLoad() : now->session->load();
}

void SharedEngine::close() {
  std::shared_ptr<Loaded> last;  // destroyed without the lock
  const std::unique_lock lock = locked(mutex_);
  last = std::exchange(loaded_, nullptr);
}

bool SharedEngine::closed() const {
  const std::unique_lock lock = locked(mutex_);
  return loaded_ == nullptr;
}

}  // namespace augur::python
