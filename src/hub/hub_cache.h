#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hub/hub_list.h"

namespace augur {

/// A repository in a hub's cache, in the layout of huggingface_hub's tools, which find what is put here, and
/// the other way round:
///
///     ROOT/models--OWNER--NAME/refs/main                 the commit that "main" was when it was asked for
///     last ROOT/models--OWNER--NAME/snapshots/COMMIT/PATH     links to blobs
///     ROOT/models--OWNER--NAME/blobs/HASH                contents, and HASH.incomplete: as far as they have
///     come ROOT/.locks/models--OWNER--NAME/HASH.lock          held by the process that fetches
///
/// Any number of processes may use it at once. Errors name the file.
class HubCache {
 public:
  /// `repository`: OWNER/NAME, as HubModel has checked it.
  HubCache(const std::filesystem::path& root, const std::string& repository);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path blob(const std::string& hash) const { return folder_ / "blobs" / hash; }
  std::filesystem::path incomplete(const std::string& hash) const {
    return folder_ / "blobs" / (hash + ".incomplete");
  }
  std::filesystem::path lock_file(const std::string& hash) const { return locks_ / (hash + ".lock"); }
  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }

  /// The commit of "main"; empty: nothing of it is here.
  std::optional<std::string> commit() const;
  void set_commit(const std::string& commit) const;

  /// Paths of the files of a commit whose contents are here, in order.
  std::vector<std::string> files(const std::string& commit) const;
  bool has(const std::string& commit, const HubFile& file) const;
  bool has_blob(const HubFile& file) const;
  /// Makes the folders of blobs and locks.
  void make_folders() const;
  /// Makes PATH of the commit a link to the file's blob.
  void link(const std::string& commit, const HubFile& file) const;

 private:
  std::filesystem::path folder_, locks_;
};

}  // namespace augur
