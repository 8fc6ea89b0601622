#include "files/part_location.h"

#include <system_error>

#include "base/error.h"

namespace augur {

namespace fs = std::filesystem;

fs::path parts_folder(const fs::path& drafter) {
  std::error_code ignored;
  if (drafter.empty() || fs::is_directory(drafter, ignored)) return drafter;
  return drafter.parent_path() / drafter.stem();
}

fs::path find_part(const fs::path& parts, std::string_view kind) {
  std::error_code ignored;
  if (parts.empty() || !fs::exists(parts / kind / "config.json", ignored)) return {};
  return parts / kind;
}

fs::path require_part(const fs::path& parts, std::string_view kind, std::string_view what,
                      std::string_view elsewhere) {
  if (parts.empty()) {
    throw Error(
        "{}: its {} part would lie in the folder of the draft model, and none was given: expected one, or {}",
        what, kind, elsewhere);
  }
  fs::path found = find_part(parts, kind);
  if (!found.empty()) return found;
  const std::string place = (parts / kind).string();
  throw Error(ErrorKind::NotFound,
              "{}: there is no {} part in {}: make one (`augur train {} ... -o {}`) or name another ({})",
              what, kind, place, kind, place, elsewhere);
}

}  // namespace augur
