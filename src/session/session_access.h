#pragma once
#include "augur/session.h"

namespace augur {

/// What the C interface may do with a session beyond its public interface. This header is not installed.
struct SessionAccess {
  /// Error of kind Misuse on one of the session's own threads, on which it cannot be waited for its end.
  static void require_other_thread(const Session& session, const char* what);
};

}  // namespace augur
