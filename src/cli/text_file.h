#pragma once
#include <string>
#include <string_view>

namespace augur::cli {

/// The whole file, byte for byte; "-" is standard input. Error when it cannot be read.
std::string read_text(const std::string& path);

/// Writes the whole file; "-" is standard output. Error when it cannot be written.
void write_text(const std::string& path, std::string_view text);

}  // namespace augur::cli
