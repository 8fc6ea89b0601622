#pragma once
#include <string>

namespace augur::cli {

/// The whole file, byte for byte; "-" is standard input. Error when it cannot be read.
std::string read_text(const std::string& path);

}  // namespace augur::cli
