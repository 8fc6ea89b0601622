#pragma once
#include "augur/augur.h"
#include "augur/session.h"

namespace augur::c_api {

/// NULL: defaults.
SessionOptions options_of(const augur_session_options* given);

}  // namespace augur::c_api
