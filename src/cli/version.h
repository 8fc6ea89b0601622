#pragma once
#include <string>

namespace augur::cli {

/// "augur 0.1.0", the kernel variant this run uses, the variants this machine has, and the build.
std::string version_text();

}  // namespace augur::cli
