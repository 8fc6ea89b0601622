#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace augur {

/// A file of a repository.
struct HubFile {
  std::string path;  ///< from the repository's root; leads nowhere else
  std::uint64_t bytes = 0;
  std::string hash;  ///< of the content: see hexadecimal.h
};

/// A repository at one commit.
struct HubList {
  std::string commit;          ///< 40 small hexadecimal digits
  std::vector<HubFile> files;  ///< sorted by path
};

/// Reads what a hub answers to GET /api/models/OWNER/NAME/revision/main?blobs=true. Error naming `source` and
/// what is wrong; also for a path that would leave the repository's folder.
HubList parse_hub_list(std::string_view json, std::string_view source);

}  // namespace augur
