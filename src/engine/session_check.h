#pragma once
#include "augur/session.h"

namespace augur {

/// Throws Error for options that no Session can have.
void check(const SessionOptions& options);

}  // namespace augur
