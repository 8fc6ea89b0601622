#pragma once
#include <string>
#include <string_view>

namespace augur {

/// The bytes of a file of at most a mebibyte, a pipe or a device among them. Error naming it where it cannot
/// be read, is a folder, or is larger. `what`: it should be, for errors ("a configuration"). `name`: as
/// errors call it; empty: by its path.
std::string read_small_file(const std::string& path, std::string_view what, std::string_view name = {});

}  // namespace augur
