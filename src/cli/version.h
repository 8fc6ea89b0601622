#pragma once
#include <string>

namespace augur::cli {

/// "augur 0.1.0 (COMMIT)", the kernel variant this run uses, the variants this machine has, and the build:
/// compiler, type, flags.
std::string version_text();

}  // namespace augur::cli
