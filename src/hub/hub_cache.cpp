#include "hub/hub_cache.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "base/atomic_file.h"
#include "base/error.h"
#include "hub/hexadecimal.h"

namespace augur {

namespace fs = std::filesystem;

namespace {

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error(ErrorKind::NotFound, "{}: cannot be made: {}", path.string(), error.message());
}

bool has_size(const fs::path& path, std::uint64_t bytes) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) == bytes && !error;
}

/// "models--OWNER--NAME"
std::string folder_name(const std::string& repository) {
  const auto slash = repository.find('/');
  return "models--" + repository.substr(0, slash) + "--" + repository.substr(slash + 1);
}

}  // namespace

HubCache::HubCache(const fs::path& root, const std::string& repository)
    : folder_(root / folder_name(repository)), locks_(root / ".locks" / folder_name(repository)) {}

std::optional<std::string> HubCache::commit() const {
  std::ifstream in(folder_ / "refs" / "main");
  std::string commit(kGitHashDigits, '\0');
  if (!in.read(commit.data(), static_cast<std::streamsize>(commit.size()))) return std::nullopt;
  if (!is_hexadecimal(commit, kGitHashDigits)) return std::nullopt;
  return commit;
}

void HubCache::set_commit(const std::string& commit) const {
  if (this->commit() == commit) return;
  make_folder(folder_ / "refs");
  AtomicFile file(folder_ / "refs" / "main");
  file.write(commit);
  file.commit();
}

std::vector<std::string> HubCache::files(const std::string& commit) const {
  std::vector<std::string> paths;
  std::error_code error;
  const fs::path root = snapshot(commit);
  for (auto at = fs::recursive_directory_iterator(root, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code missing;  // a link to what is not there yet
    if (at->is_regular_file(missing)) paths.push_back(at->path().lexically_relative(root).generic_string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool HubCache::has(const std::string& commit, const HubFile& file) const {
  return has_size(snapshot(commit) / file.path, file.bytes);
}

bool HubCache::has_blob(const HubFile& file) const {
  return has_size(blob(file.hash), file.bytes);
}

void HubCache::make_folders() const {
  make_folder(folder_ / "blobs");
  make_folder(locks_);
}

void HubCache::link(const std::string& commit, const HubFile& file) const {
  const fs::path path = snapshot(commit) / file.path;
  make_folder(path.parent_path());
  const fs::path target = blob(file.hash).lexically_relative(path.parent_path());
  // Beside it first: what was there may be in use.
  const fs::path beside = path.parent_path() / fmt::format(".{}.{:08x}", ::getpid(), std::random_device()());
  std::error_code error;
  fs::create_symlink(target, beside, error);
  if (!error) fs::rename(beside, path, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(beside, ignored);
  throw Error(ErrorKind::NotFound, "{}: cannot be made a link to {}: {}", path.string(), target.string(),
              error.message());
}

}  // namespace augur
