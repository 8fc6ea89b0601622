#include "base/abandoned_files.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

namespace augur {

namespace {

bool is_temporary(std::string_view name) {
  constexpr std::string_view kEnd = ".tmp";
  constexpr std::size_t kRandom = 6;
  if (!name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  if (name.size() < kRandom + 2 || name[name.size() - kRandom - 1] != '.') return false;
  const std::string_view random = name.substr(name.size() - kRandom);
  return std::all_of(random.begin(), random.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  });
}

}  // namespace

void remove_abandoned_files(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> abandoned;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->symlink_status(unknown).type() == std::filesystem::file_type::regular &&
        is_temporary(entry->path().filename().native()))
      abandoned.push_back(entry->path());
  }
  for (const std::filesystem::path& path : abandoned) std::filesystem::remove(path, error);
}

}  // namespace augur
