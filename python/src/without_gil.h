#pragma once
#include <nanobind/nanobind.h>

namespace augur::python {

/// Lets other Python threads run while its scope computes or waits. No thread of the engine ever asks for the
/// interpreter's lock; only threads that Python has started do, at the end of this scope. They are counted,
/// so that the interpreter's end can wait for them: a thread that asks for the lock later than that is ended
/// in the middle of C++ code.
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
