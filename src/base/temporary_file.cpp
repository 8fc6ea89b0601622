#include "base/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"

namespace augur {
namespace {

constexpr std::string_view kRandom = "XXXXXX";  // mkostemps() writes letters and digits there

bool is_temporary(std::string_view name) {
  if (!name.ends_with(TemporaryFile::kUsualSuffix)) return false;
  name.remove_suffix(TemporaryFile::kUsualSuffix.size());
  if (name.size() < kRandom.size() + 2 || name[name.size() - kRandom.size() - 1] != '.') return false;
  const std::string_view random = name.substr(name.size() - kRandom.size());
  return std::all_of(random.begin(), random.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  });
}

}  // namespace

TemporaryFile::TemporaryFile(const std::filesystem::path& prefix, std::string_view suffix) {
  std::string name = fmt::format("{}.{}{}", prefix.string(), kRandom, suffix);
  descriptor_ = ::mkostemps(name.data(), static_cast<int>(suffix.size()), O_CLOEXEC);  // O_EXCL, 0600
  if (descriptor_ < 0) {
    throw Error(ErrorKind::NotFound, "{}: cannot be created: {}", prefix.string(), std::strerror(errno));
  }
  path_ = name;
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

bool TemporaryFile::close() {
  return ::close(std::exchange(descriptor_, -1)) == 0;
}

bool TemporaryFile::rename_to(const std::filesystem::path& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) return false;
  path_.clear();
  return true;
}

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
