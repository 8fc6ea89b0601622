#pragma once
#include "server/problem.h"

namespace augur {

/// What a server is about. It only goes forward.
enum class Phase {
  Loading,  ///< the model is not there yet
  Serving,
  Leaving,   ///< it serves, and tells those that look that it is about to end
  Draining,  ///< what has begun is finished, what comes is refused
};

/// What is answered to those that come too early or too late: another server of the same kind may do.
inline NotServing problem_of_phase(Phase phase) {
  return NotServing(phase == Phase::Loading ? "the model is loading" : "the server is about to end");
}

}  // namespace augur
