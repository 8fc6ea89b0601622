#pragma once
#include <filesystem>
#include <functional>
#include <string_view>

namespace augur {

/// Hands over the running text of a corpus file (JSON lines, plain or .xz): a record's "text", or what every
/// message of its "messages" says. Stops when `take` returns false. Error naming file and line for a record
/// of another form.
void read_texts(const std::filesystem::path& file, const std::function<bool(std::string_view)>& take);

}  // namespace augur
