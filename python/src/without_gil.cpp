#include "without_gil.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "augur/error.h"

namespace nb = nanobind;

namespace augur::python {
namespace {

struct Scopes {
  std::mutex mutex;
  std::condition_variable none;
  int count = 0;
  bool refused = false;
  const pid_t process = getpid();
};

/// Never destroyed: threads may still end their scopes when the process ends.
Scopes& scopes() {
  static Scopes& all = *new Scopes;
  return all;
}

}  // namespace

WithoutGil::WithoutGil() {
  Scopes& all = scopes();
  if (all.process == getpid()) {
    const std::lock_guard lock(all.mutex);
    if (all.refused) throw Error(ErrorKind::Misuse, std::string("the interpreter is ending"));
    ++all.count;
  }
  state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  PyEval_RestoreThread(state_);
  Scopes& all = scopes();
  if (all.process != getpid()) return;
  const std::lock_guard lock(all.mutex);
  if (--all.count == 0) all.none.notify_all();
}

void end_scopes_without_gil(double seconds) {
  Scopes& all = scopes();
  if (all.process != getpid()) return;
  PyThreadState* state = PyEval_SaveThread();
  {
    std::unique_lock lock(all.mutex);
    all.refused = true;
    all.none.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return all.count == 0; });
  }
  PyEval_RestoreThread(state);
}

void raise_signals() {
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
}

}  // namespace augur::python
