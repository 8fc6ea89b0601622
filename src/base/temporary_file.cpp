#include "base/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"

namespace augur {

TemporaryFile::TemporaryFile(const std::filesystem::path& prefix, std::string_view suffix) {
  std::string name = fmt::format("{}.XXXXXX{}", prefix.string(), suffix);
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

}  // namespace augur
