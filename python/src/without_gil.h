#pragma once
#include <nanobind/nanobind.h>

namespace augur::python {

/// Lets other Python threads run while its scope computes or waits. Threads of the engine ask for the
/// interpreter's lock only to call users' own code (in_python), which ends when engines are closed; threads
/// that Python has started do at the end of this scope. These are counted, so that the interpreter's end can
/// wait for them: a thread that asks for the lock later than that is ended in the middle of C++ code.
class WithoutGil {
 public:
  /// Error of kind Misuse while the interpreter ends.
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Refuses further scopes, and returns when those that there are have ended, or after `seconds`. In a child
/// of fork(), whose parent's threads are not there, it waits for none.
void end_scopes_without_gil(double seconds);

/// Runs handlers of signals that have arrived; what they raise (KeyboardInterrupt) is thrown.
void raise_signals();

}  // namespace augur::python
