#pragma once
#include <filesystem>

namespace augur {

/// Removes what killed processes were writing into a folder when they ended: temporary files (TemporaryFile),
/// which are named NAME.XXXXXX.tmp. For a folder that one process writes at a time. What cannot be removed
/// stays.
void remove_abandoned_files(const std::filesystem::path& folder);

}  // namespace augur
