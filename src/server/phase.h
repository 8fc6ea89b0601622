#pragma once
#include "server/problem.h"

namespace augur {

/// Phase of the server. It never goes back.
enum class Phase {
  Loading,  ///< the model is not there yet
  Serving,
  Leaving,   ///< it serves, but its health answers say that it is about to end
  Draining,  ///< running requests are finished, new ones refused
};

/// The answer to requests that come too early or too late; another server of the same kind may answer them.
inline NotServing problem_of_phase(Phase phase) {
  return NotServing(phase == Phase::Loading ? "the model is loading" : "the server is about to end");
}

}  // namespace augur
